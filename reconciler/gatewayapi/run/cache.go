package run

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/validation"
)

// cacheOptions make the cache drop fields that nobody reads: it keeps the names of ledgers and of their muxes, and
// Services as TrimService leaves them.
func cacheOptions(language validation.Language, namespaces []string) cache.Options {
	served := map[string]cache.Config{} // if empty, all
	for _, namespace := range namespaces {
		served[namespace] = cache.Config{}
	}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			ledger.Object(): {Label: record.Selector(), Namespaces: served, Transform: func(object any) (any, error) {
				if cm, is := object.(*metav1.PartialObjectMetadata); is {
					ledger.Trim(cm, language.Keys())
				}
				return object, nil
			}},
			&corev1.Service{}: {Transform: func(object any) (any, error) {
				if svc, is := object.(*corev1.Service); is {
					TrimService(svc, &language)
				}
				return object, nil
			}},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
}

// TrimService keeps a Service's ports. Of the mux of a Gateway, it keeps all but managedFields.
func TrimService(svc *corev1.Service, language *validation.Language) {
	svc.ManagedFields = nil
	if svc.Labels[language.Keys().Managed] == "true" {
		return
	}
	svc.Annotations, svc.Labels, svc.OwnerReferences, svc.Finalizers = nil, nil, nil, nil
	svc.Spec, svc.Status = corev1.ServiceSpec{Ports: svc.Spec.Ports}, corev1.ServiceStatus{}
}
