package plan

import (
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// ReadMux parses a Service as a mux. declaresPlaceholder must come from the whole object, before it was trimmed: see
// DeclaresPlaceholder.
func ReadMux(l validation.Language, svc *corev1.Service, declaresPlaceholder bool) *ObservedMux {
	mux, found := l.ParseMux(svc)
	return &ObservedMux{
		Mux: mux, Problems: found.Problems, Excesses: found.Excesses, Warnings: found.Warnings,
		Address:             svc.Status.LoadBalancer.Ingress,
		DeclaresPlaceholder: declaresPlaceholder,
		Leftovers:           l.Leftovers(svc),
	}
}

// ReadChannel parses a Service as a channel or a former channel. The caller adds its backends.
func ReadChannel(l validation.Language, svc *corev1.Service) ObservedChannel {
	channel, found := l.ParseChannel(svc)
	return ObservedChannel{
		Channel: channel, Problems: found.Problems, Excesses: found.Excesses,
		Address: svc.Status.LoadBalancer.Ingress, Conditions: svc.Status.Conditions,
		PortsNote: svc.Annotations[l.Keys().Ports],
		Leftovers: l.Leftovers(svc),
	}
}
