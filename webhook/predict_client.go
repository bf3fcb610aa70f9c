package webhook

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// newClient returns a client for the core API only. client-go's clientset includes all APIs, and would double the size
// of the webhook.
func newClient(kubeconfig, version string) (rest.Interface, error) {
	config, err := restConfig(kubeconfig, version)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
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
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS = -1 // API Priority and Fairness is the limiter
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// servicesBy returns a request for the Services of all namespaces.
func servicesBy(client rest.Interface, options *metav1.ListOptions) *rest.Request {
	return client.Get().Resource("services").VersionedParams(options, metav1.ParameterCodec)
}
