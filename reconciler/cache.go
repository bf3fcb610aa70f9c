package reconciler

import (
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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

// cacheOptions has informers keep as little as will do. What is dropped doesn't depend on what an object is at the
// moment: a Service that becomes a channel later isn't sent again.
func cacheOptions(options *Options) cache.Options {
	var beside map[string]cache.Config // where muxes are
	for _, namespace := range options.muxNamespaces() {
		if beside == nil {
			beside = map[string]cache.Config{}
		}
		beside[namespace] = cache.Config{}
	}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Service{}:            {Transform: trimService(options)},
			&discoveryv1.EndpointSlice{}: {Transform: trimSlice},
			&corev1.ConfigMap{}:          {Label: ledger.Selector(), Namespaces: beside},
			// Nobody asks for these unless they are written on request.
			&corev1.Endpoints{}: {Label: backends.OursAmongEndpoints(), Namespaces: beside}, //nolint:staticcheck // deprecated, and asked for by who still reads it
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
}

// trimService also has a mux that isn't ours to look after be none: whoever reads the cache would ask for more about it
// than we may.
func trimService(options *Options) toolscache.TransformFunc {
	namespaces, multiplexer := options.muxNamespaces(), ""
	if language, err := options.language(); err == nil {
		multiplexer = language.Keys().Multiplexer
	}
	return func(obj any) (any, error) {
		if svc, ok := obj.(*corev1.Service); ok {
			mux.Trim(svc)
			if len(namespaces) > 0 && !slices.Contains(namespaces, svc.Namespace) {
				delete(svc.Annotations, multiplexer)
			}
		}
		return obj, nil
	}
}

func trimSlice(obj any) (any, error) {
	if slice, ok := obj.(*discoveryv1.EndpointSlice); ok {
		slice.ManagedFields = nil
		for i := range slice.Endpoints {
			if target := slice.Endpoints[i].TargetRef; target != nil {
				target.FieldPath = "" // which may be as long as an object
			}
		}
	}
	return obj, nil
}
