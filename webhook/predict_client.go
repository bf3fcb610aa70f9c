package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// clients are for the API groups whose objects predictions need. client-go's clientset includes all APIs, and would
// double the size of the webhook.
type clients struct{ core, gatewayAPI rest.Interface }

func newClients(kubeconfig, version string) (clients, error) {
	config, err := restConfig(kubeconfig, version)
	if err != nil {
		return clients{}, err
	}
	protobuf := rest.CopyConfig(config)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	protobuf.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	core, err := newClient(protobuf, "/api", corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return clients{}, err
	}
	// custom resources know JSON alone
	gatewayAPI, err := newClient(config, "/apis", schema.GroupVersion(gatewayv1.GroupVersion), gatewayv1.Install)
	return clients{core, gatewayAPI}, err
}

// service reads a Service live.
func (c clients) service(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	svc := &corev1.Service{}
	err := c.core.Get().Namespace(key.Namespace).Resource("services").Name(key.Name).Do(ctx).Into(svc)
	return svc, err
}

func newClient(config *rest.Config, path string, group schema.GroupVersion,
	add func(*runtime.Scheme) error) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := add(scheme); err != nil {
		return nil, err
	}
	config.GroupVersion, config.APIPath = &group, path
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

// restConfig returns the connection to the API server, from a kubeconfig or from the pod's service account.
func restConfig(kubeconfig, version string) (*rest.Config, error) {
	load := rest.InClusterConfig
	if kubeconfig != "" {
		load = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", kubeconfig) }
	}
	config, err := load()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %q: %w", kubeconfig, err)
	}
	config.UserAgent = "svc-lb-mux-webhook/" + version
	config.QPS = -1 // API Priority and Fairness is the limiter
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}
