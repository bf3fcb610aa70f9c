package process

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/mux"
)

// newScheme knows the kinds that we read and write.
func newScheme() *runtime.Scheme { return clientscheme.Scheme }

// newMapper knows them without asking: who starts while the API server is away waits for it.
func newMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("Endpoints"),
		discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
	} {
		mapper.Add(kind, meta.RESTScopeNamespace)
		kind.Kind += "List" // a cache of several namespaces asks where lists are
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return mapper, nil
}

// cacheOptions has informers keep as little as will do: whoever may write a Service, a slice or a ConfigMap decides how
// large it is. What is dropped of an object depends on nothing but that object: it isn't sent again when another changes.
func cacheOptions(options *Options) (cache.Options, error) {
	language, err := options.language()
	if err != nil {
		return cache.Options{}, err
	}
	var beside map[string]cache.Config // where muxes are
	for _, namespace := range options.muxNamespaces() {
		if beside == nil {
			beside = map[string]cache.Config{}
		}
		beside[namespace] = cache.Config{}
	}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Service{}: {Transform: trim(func(svc *corev1.Service) { mux.Trim(svc, language, options.muxNamespaces()) })},
			&discoveryv1.EndpointSlice{}: {Transform: trim(func(slice *discoveryv1.EndpointSlice) {
				backends.Trim(slice, language.Keys())
			})},
			ledger.Object(): {Label: ledger.Selector(), Namespaces: beside, Transform: trim(func(object *metav1.PartialObjectMetadata) {
				ledger.Trim(object, language.Keys())
			})},
			// Nobody asks for these unless they are written on request.
			&corev1.Endpoints{}: {Label: backends.OursAmongEndpoints(), Namespaces: beside}, //nolint:staticcheck // deprecated, and asked for by who still reads it
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}, nil
}

// trim makes a transform of what is done to one kind.
func trim[T any](do func(T)) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if object, is := obj.(T); is {
			do(object)
		}
		return obj, nil
	}
}
