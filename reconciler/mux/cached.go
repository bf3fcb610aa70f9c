package mux

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// declared marks a cached Service whose applier declares the placeholder port. No such annotation can exist in a
// cluster: its key isn't one.
const declared = "(declares the placeholder)"

// Trim takes off a Service what is never read here, so that a cluster's thousands of Services cost little. It doesn't
// look at what the Service is: one that becomes a mux or a channel later isn't sent again. What is dropped is gone, so
// a cached Service must never be the base of an update.
func Trim(svc *corev1.Service) {
	declares := plan.DeclaresPlaceholder(svc)
	svc.ManagedFields, svc.Labels, svc.OwnerReferences = nil, nil, nil
	svc.Spec.SessionAffinityConfig = nil
	if _, noted := svc.Annotations[corev1.LastAppliedConfigAnnotation]; noted || declares {
		svc.Annotations = maps.Clone(svc.Annotations)
		delete(svc.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	if declares {
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		svc.Annotations[declared] = "true"
	}
}

func declaresPlaceholder(svc *corev1.Service) bool { return svc.Annotations[declared] != "" }
