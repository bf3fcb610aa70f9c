package webhook

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// declaresMark is an annotation that trim sets on a Service whose applier declares the placeholder port, because trim
// drops the metadata that shows the declaration. The key isn't valid, so no Service in a cluster can have it.
const declaresMark = "(declares the placeholder)"

// trim drops the parts of a Service that this package never reads, to save memory while all Services are listed. It may
// run twice on a Service.
func trim(obj any) (any, error) {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return obj, nil
	}
	declares := declaresPlaceholder(svc)
	svc.ManagedFields, svc.Labels, svc.OwnerReferences, svc.Status = nil, nil, nil, corev1.ServiceStatus{}
	if _, noted := svc.Annotations[corev1.LastAppliedConfigAnnotation]; !noted && !declares {
		return svc, nil
	}
	svc.Annotations = maps.Clone(svc.Annotations)
	delete(svc.Annotations, corev1.LastAppliedConfigAnnotation)
	if declares {
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		svc.Annotations[declaresMark] = "true"
	}
	return svc, nil
}

func declaresPlaceholder(svc *corev1.Service) bool {
	return svc.Annotations[declaresMark] != "" || plan.DeclaresPlaceholder(svc)
}

func readMux(lang validation.Language, svc *corev1.Service) *plan.ObservedMux {
	return plan.ReadMux(lang, svc, declaresPlaceholder(svc))
}

// readEntry parses a Service, and drops the fields that no decision depends on.
func readEntry(lang validation.Language, svc *corev1.Service) entry {
	var is entry
	kind := lang.Classify(svc)
	if kind.Mux() {
		is.mux = readMux(lang, svc)
		is.mux.ResourceVersion, is.mux.Address = "", nil
	}
	if kind.Channel() {
		channel := plan.ReadChannel(lang, svc)
		channel.ResourceVersion, channel.Address, channel.Conditions = "", nil, nil
		is.channel = &channel
	}
	return is
}
