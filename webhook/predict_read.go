package webhook

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// declared marks a Service whose applier declares the placeholder port, where what told so was dropped. No such
// annotation can exist in a cluster: its key isn't one.
const declared = "(declares the placeholder)"

// trim takes off a Service what is never read here: while all of them are gathered, they are in memory together. It may
// be done twice, and doesn't look at what the Service is.
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
		svc.Annotations[declared] = "true"
	}
	return svc, nil
}

func declaresPlaceholder(svc *corev1.Service) bool {
	return svc.Annotations[declared] != "" || plan.DeclaresPlaceholder(svc)
}

func readMux(lang validation.Language, svc *corev1.Service) *plan.ObservedMux {
	return plan.ReadMux(lang, svc, declaresPlaceholder(svc))
}

// readEntry keeps what decisions are made from, and nothing that changes without them.
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
