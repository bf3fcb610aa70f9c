package addresses

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/validation"
)

// trimService keeps the fields that a pass reads. Of a Service that no pass looks at, it keeps only the name, the UID
// and the version. At each change, the API server sends the whole Service: so if it gets a class of gateways later, its
// fields are there.
func trimService(language validation.Language, svc *corev1.Service) {
	meta := metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID, ResourceVersion: svc.ResourceVersion}
	if _, is := decide.Parse(language, svc); !is {
		*svc = corev1.Service{TypeMeta: svc.TypeMeta, ObjectMeta: meta}
		return
	}
	meta.Generation, meta.CreationTimestamp = svc.Generation, svc.CreationTimestamp
	meta.DeletionTimestamp = svc.DeletionTimestamp
	keys := language.Keys()
	for _, key := range []string{keys.Multiplexer, keys.Address, keys.Gateways, keys.CarriedBy} {
		if value, set := svc.Annotations[key]; set {
			if meta.Annotations == nil {
				meta.Annotations = map[string]string{}
			}
			meta.Annotations[key] = value
		}
	}
	*svc = corev1.Service{
		TypeMeta: svc.TypeMeta, ObjectMeta: meta, Status: svc.Status,
		Spec: corev1.ServiceSpec{
			Type: svc.Spec.Type, LoadBalancerClass: svc.Spec.LoadBalancerClass, IPFamilies: svc.Spec.IPFamilies,
			IPFamilyPolicy: svc.Spec.IPFamilyPolicy,
		},
	}
}

// trimConfigMap keeps the name: claims are read live, and the informer only tells of changes.
func trimConfigMap(cm *corev1.ConfigMap) {
	*cm = corev1.ConfigMap{TypeMeta: cm.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, UID: cm.UID,
			ResourceVersion: cm.ResourceVersion}}
}

func trimLease(l *coordinationv1.Lease) { l.ManagedFields, l.OwnerReferences = nil, nil }

// Trim returns the transform of informers.
func Trim(language validation.Language) toolscache.TransformFunc {
	return func(object any) (any, error) {
		switch o := object.(type) {
		case *corev1.Service:
			trimService(language, o)
		case *corev1.ConfigMap:
			trimConfigMap(o)
		case *coordinationv1.Lease:
			trimLease(o)
		}
		return object, nil
	}
}
