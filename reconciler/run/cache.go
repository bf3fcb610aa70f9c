package run

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
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/services"
	"nowake.ai/svc-lb-mux/validation"
)

// newScheme returns a scheme with the kinds that we read and write.
func newScheme() *runtime.Scheme { return clientscheme.Scheme }

// newMapper maps the kinds that we read and write without discovery, so that a process can start while the API server
// is down.
func newMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("Endpoints"),
		discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
	} {
		mapper.Add(kind, meta.RESTScopeNamespace)
		kind.Kind += "List" // a cache of several namespaces maps lists, too
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return mapper, nil
}

// cacheOptions makes informers keep as little as possible: tenants can make Services, slices and ConfigMaps large. A
// transform looks only at its own object, since the object isn't sent again when another one changes.
func cacheOptions(options *Options, language validation.Language) cache.Options {
	muxNamespaces := map[string]cache.Config{} // if empty, all
	for _, namespace := range options.muxNamespaces() {
		muxNamespaces[namespace] = cache.Config{}
	}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Service{}: {Transform: trim(func(svc *corev1.Service) {
				services.Trim(svc, language, options.muxNamespaces())
			})},
			&discoveryv1.EndpointSlice{}: {Transform: trim(func(slice *discoveryv1.EndpointSlice) {
				backends.Trim(slice, language.Keys())
			})},
			ledger.Object(): {Label: record.Selector(), Namespaces: muxNamespaces,
				Transform: trim(func(object *metav1.PartialObjectMetadata) {
					ledger.Trim(object, language.Keys())
				})},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
}

// trim returns a transform for objects of one kind.
func trim[T any](do func(T)) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if object, is := obj.(T); is {
			do(object)
		}
		return obj, nil
	}
}
