package mux

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/reconciler/share"
	"nowake.ai/svc-lb-mux/validation"
)

// declared marks a cached Service whose applier declares the placeholder port. No such annotation can exist in a
// cluster: its key isn't one.
const declared = "(declares the placeholder)"

// elsewhere marks a cached Service that is a mux in a namespace which this process doesn't look after. No such annotation can exist
// in a cluster, either.
const elsewhere = "(a mux elsewhere)"

// Trim takes off a Service what is never read here, so that a cluster's thousands of Services cost little, whatever their
// owners write into them. One that is neither mux nor channel keeps little more than its name: if it becomes one, it is
// sent again, whole. What is dropped is gone, so a cached Service must never be the base of an update.
//
// With namespaces, muxes elsewhere are somebody else's to look after: they are cached as if they were none, since whoever reads the
// cache would ask for more about them than we may.
func Trim(svc *corev1.Service, language validation.Language, namespaces []string) {
	unserved := isElsewhere(svc) // an informer may trim one more than once
	if len(namespaces) > 0 && !slices.Contains(namespaces, svc.Namespace) {
		unserved = unserved || language.Classify(svc).Mux()
		delete(svc.Annotations, language.Keys().Multiplexer)
	}
	declares := declaresPlaceholder(svc) || plan.DeclaresPlaceholder(svc)
	svc.GenerateName, svc.ManagedFields, svc.Labels, svc.OwnerReferences = "", nil, nil, nil
	svc.Spec.SessionAffinityConfig = nil
	svc.Annotations = language.Heeded(svc.Annotations)
	kind := language.Classify(svc)
	if kind == validation.Stranger {
		trimStranger(svc, language.Keys())
		if unserved {
			mark(svc, elsewhere)
		}
		return
	}
	if !kind.Mux() {
		svc.Spec.Selector = nil // a mux must not have one
	}
	share.Texts(&svc.Namespace)
	for i := range svc.Status.Conditions {
		condition := &svc.Status.Conditions[i]
		share.Texts(&condition.Type, &condition.Reason, &condition.Message)
		share.Texts(&condition.Status)
	}
	if declares {
		mark(svc, declared)
	}
	if unserved {
		mark(svc, elsewhere)
	}
}

func mark(svc *corev1.Service, with string) {
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	svc.Annotations[with] = "true"
}

func isElsewhere(svc *corev1.Service) bool { return svc.Annotations[elsewhere] != "" }

// trim makes what was read live, or written, look as in the cache.
func (l *Line) trim(svc *corev1.Service) { Trim(svc, l.Language, l.Namespaces) }

// beginning is how much is kept of a stranger's annotation: that it is there, or "false", is all that counts.
const beginning = 16

// trimStranger leaves what tells that a Service was a channel once, and what is said of one that was meant to be one.
func trimStranger(svc *corev1.Service, keys validation.Keys) {
	for key, value := range svc.Annotations {
		if len(value) > beginning {
			svc.Annotations[key] = strings.Clone(value[:beginning]) // a mere part would keep the whole
		}
	}
	if len(svc.Annotations) == 0 {
		svc.Annotations = nil
	}
	if slices.Contains(svc.Finalizers, keys.Finalizer) {
		svc.Finalizers = []string{keys.Finalizer}
	} else {
		svc.Finalizers = nil
	}
	var conditions []metav1.Condition
	for _, condition := range svc.Status.Conditions {
		if condition.Type == keys.Accepted || condition.Type == keys.Programmed || condition.Type == keys.BackendsReady {
			conditions = append(conditions, metav1.Condition{Type: condition.Type, Status: condition.Status})
		}
	}
	svc.Spec = corev1.ServiceSpec{Type: svc.Spec.Type, LoadBalancerClass: svc.Spec.LoadBalancerClass}
	svc.Status = corev1.ServiceStatus{Conditions: conditions}
}

func declaresPlaceholder(svc *corev1.Service) bool { return svc.Annotations[declared] != "" }
