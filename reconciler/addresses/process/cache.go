package process

import (
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/addresses"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// newMapper maps our kinds without discovery, so that a process can start while the API server is away.
func newMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		coordinationv1.SchemeGroupVersion.WithKind("Lease"),
	} {
		mapper.Add(kind, meta.RESTScopeNamespace)
		kind.Kind += "List" // a cache of several namespaces maps lists, too
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return mapper, nil
}

// cacheOptions makes informers keep as little as possible: tenants can make Services large.
func cacheOptions(o *Options) (cache.Options, error) {
	language, err := o.language()
	if err != nil {
		return cache.Options{}, err
	}
	ofPools, err := labels.NewRequirement(language.Keys().Pool, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	own := map[string]cache.Config{o.Namespace: {}}
	muxNamespaces := map[string]cache.Config{} // if empty, all
	for _, namespace := range flags.List(o.MuxNamespaces) {
		muxNamespaces[namespace] = cache.Config{}
	}
	selector := labels.NewSelector().Add(*ofPools)
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Service{}:       {Namespaces: muxNamespaces, Transform: addresses.Trim(language)},
			&corev1.ConfigMap{}:     {Namespaces: own, Label: selector, Transform: addresses.Trim(language)},
			&coordinationv1.Lease{}: {Namespaces: own, Label: selector, Transform: addresses.Trim(language)},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}, nil
}
