package kube

import (
	"context"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

// Cluster reads from one cluster. All errors of its methods are sentences with the way out.
type Cluster struct {
	// Context is the name of the kubeconfig's context; Server is the API server's URL.
	Context, Server string
	// Namespace is the namespace of the flag -n, or else the context's.
	Namespace string
	// Taken is when a snapshot was taken; zero for a cluster.
	Taken time.Time

	core, apps, discovery *rest.RESTClient
}

func connect(config *rest.Config, context, namespace string, warn io.Writer) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, 0 // API Priority and Fairness is the limiter
	config.UserAgent = "svcmux"
	config.WarningHandler = warnings{to: warn}
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(appsv1.AddToScheme(scheme))
	utilruntime.Must(discoveryv1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if config.AcceptContentTypes == "" {
		// for large lists, a fraction of JSON's time
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c := &Cluster{Context: context, Server: config.Host, Namespace: namespace}
	var err error
	if c.core, err = client(config, "/api", corev1.SchemeGroupVersion); err != nil {
		return nil, c.explain(err)
	}
	if c.apps, err = client(config, "/apis", appsv1.SchemeGroupVersion); err != nil {
		return nil, c.explain(err)
	}
	if c.discovery, err = client(config, "/apis", discoveryv1.SchemeGroupVersion); err != nil {
		return nil, c.explain(err)
	}
	return c, nil
}

func client(config *rest.Config, path string, version schema.GroupVersion) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = path, &version
	return rest.RESTClientFor(config)
}

// page is how many objects a request asks for, so that a large cluster answers in bounded parts.
const page = "500"

// listOfObjects is a list as the API server sends it.
type listOfObjects interface {
	runtime.Object
	metav1.ListInterface
}

// read lists all objects of a resource, page by page. An empty namespace is all namespaces.
func read[L listOfObjects](ctx context.Context, c *Cluster, from *rest.RESTClient, resource, namespace, selector string,
	empty func() L, add func(L)) error {
	rest := ""
	for {
		list := empty()
		request := from.Get().Resource(resource).NamespaceIfScoped(namespace, namespace != "").Param("limit", page)
		if selector != "" {
			request = request.Param("labelSelector", selector)
		}
		if rest != "" {
			request = request.Param("continue", rest)
		}
		if err := request.Do(ctx).Into(list); err != nil {
			return c.explain(err)
		}
		add(list)
		if rest = list.GetContinue(); rest == "" {
			return nil
		}
	}
}

// Services lists Services. An empty namespace is all namespaces.
func (c *Cluster) Services(ctx context.Context, namespace, selector string) ([]*corev1.Service, error) {
	var all []*corev1.Service
	err := read(ctx, c, c.core, "services", namespace, selector, func() *corev1.ServiceList {
		return &corev1.ServiceList{}
	},
		func(l *corev1.ServiceList) {
			for i := range l.Items {
				all = append(all, &l.Items[i])
			}
		})
	return all, err
}

// Service reads one Service. The Service is nil if it doesn't exist.
func (c *Cluster) Service(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	svc := &corev1.Service{}
	err := c.core.Get().Resource("services").Namespace(key.Namespace).Name(key.Name).Do(ctx).Into(svc)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(err)
	}
	return svc, nil
}

// ConfigMaps lists ConfigMaps of a namespace. An empty namespace is all namespaces.
func (c *Cluster) ConfigMaps(ctx context.Context, namespace string) ([]*corev1.ConfigMap, error) {
	var all []*corev1.ConfigMap
	err := read(ctx, c, c.core, "configmaps", namespace, "", func() *corev1.ConfigMapList {
		return &corev1.ConfigMapList{}
	},
		func(l *corev1.ConfigMapList) {
			for i := range l.Items {
				all = append(all, &l.Items[i])
			}
		})
	return all, err
}

// Namespaces lists the names of all namespaces.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	var all []string
	err := read(ctx, c, c.core, "namespaces", "", "", func() *corev1.NamespaceList { return &corev1.NamespaceList{} },
		func(l *corev1.NamespaceList) {
			for i := range l.Items {
				all = append(all, l.Items[i].Name)
			}
		})
	return all, err
}

// Deployments lists Deployments. An empty namespace is all namespaces.
func (c *Cluster) Deployments(ctx context.Context, namespace, selector string) ([]*appsv1.Deployment, error) {
	var all []*appsv1.Deployment
	err := read(ctx, c, c.apps, "deployments", namespace, selector, func() *appsv1.DeploymentList {
		return &appsv1.DeploymentList{}
	},
		func(l *appsv1.DeploymentList) {
			for i := range l.Items {
				all = append(all, &l.Items[i])
			}
		})
	return all, err
}

// ProviderID returns the provider's ID of any one node, such as aws:///eu-west-1a/i-0123; "" without nodes.
func (c *Cluster) ProviderID(ctx context.Context) (string, error) {
	nodes := &corev1.NodeList{}
	if err := c.core.Get().Resource("nodes").Param("limit", "1").Do(ctx).Into(nodes); err != nil {
		return "", c.explain(err)
	}
	if len(nodes.Items) == 0 {
		return "", nil
	}
	return nodes.Items[0].Spec.ProviderID, nil
}

// soon is how long completion and other extras wait for the cluster.
const soon = 3 * time.Second

// Soon bounds work that a user doesn't ask for, such as completion.
func Soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, soon)
}

// ChartSelector finds the Deployments of the chart, whatever the release's name is.
const ChartSelector = "app.kubernetes.io/name in (svc-mux, svc-mux-webhook, svc-mux-gateways)"
