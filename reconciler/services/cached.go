package services

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/share"
	"nowake.ai/svc-lb-mux/validation"
)

// declaredMark marks a cached Service whose applier declares the placeholder port. No real annotation can have this
// key: the key isn't valid.
const declaredMark = "(declares the placeholder)"

// elsewhereMark marks a cached mux that this process doesn't serve. No real annotation can have this key, either.
const elsewhereMark = "(a mux elsewhere)"

// gatewayMark marks a cached mux that is made for a Gateway. No real annotation can have this key, either.
const gatewayMark = "(a Gateway's)"

// Trim removes the fields of a Service that this process never reads, so that thousands of Services need little memory.
// A Service that is neither mux nor channel keeps little more than its name: when it becomes one, the informer gets it
// again as a whole. A cached Service must never be the base of an update, or the removed fields would be lost.
//
// With namespaces, a mux in another namespace is cached as a plain Service: code that reads the cache would otherwise
// use objects that this process may not read or write.
func Trim(svc *corev1.Service, language validation.Language, namespaces []string) {
	unserved := isElsewhere(svc) // an informer may trim an object more than once
	if len(namespaces) > 0 && !slices.Contains(namespaces, svc.Namespace) {
		unserved = unserved || language.Classify(svc).Mux()
		delete(svc.Annotations, language.Keys().Multiplexer)
	}
	declares := declaresPlaceholder(svc) || plan.DeclaresPlaceholder(svc)
	forGateway := isForGateway(svc) || isOwnedByGateway(svc)
	svc.GenerateName, svc.ManagedFields, svc.Labels, svc.OwnerReferences = "", nil, nil, nil
	svc.Spec.SessionAffinityConfig = nil
	svc.Annotations = language.Heeded(svc.Annotations)
	kind := language.Classify(svc)
	if kind == validation.Stranger {
		trimStranger(svc, language.Keys())
		if unserved {
			mark(svc, elsewhereMark)
		}
		return
	}
	if !kind.Mux() {
		svc.Spec.Selector = nil // only a mux's selector matters: a mux must not have one
	}
	share.Texts(&svc.Namespace)
	for i := range svc.Status.Conditions {
		condition := &svc.Status.Conditions[i]
		share.Texts(&condition.Type, &condition.Reason, &condition.Message)
		share.Texts(&condition.Status)
	}
	if declares {
		mark(svc, declaredMark)
	}
	if forGateway && kind.Mux() {
		mark(svc, gatewayMark)
	}
	if unserved {
		mark(svc, elsewhereMark)
	}
}

func mark(svc *corev1.Service, with string) {
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	svc.Annotations[with] = "true"
}

// isOwnedByGateway is true for a Service that a Gateway controls, such as a mux that package gatewayapi made.
func isOwnedByGateway(svc *corev1.Service) bool {
	owner := metav1.GetControllerOf(svc)
	return owner != nil && owner.Kind == "Gateway" && strings.HasPrefix(owner.APIVersion, "gateway.networking.k8s.io/")
}

// isForGateway is true for a cached mux that is made for a Gateway.
func isForGateway(svc *corev1.Service) bool { return svc.Annotations[gatewayMark] != "" }

func isElsewhere(svc *corev1.Service) bool { return svc.Annotations[elsewhereMark] != "" }

// rememberWrite stores the API server's response to a write, because the cache is behind.
func (l *Line) rememberWrite(now *corev1.Service) {
	l.trim(now)
	l.services.Put(now)
}

// trim makes a Service from a live read or a write look like a cached one.
func (l *Line) trim(svc *corev1.Service) { Trim(svc, l.Language, l.Namespaces) }

// keptBytes is how many bytes of an annotation a cached plain Service keeps. It matters only whether the annotation
// exists, and whether its value is "false".
const keptBytes = 16

// trimStranger keeps the leftovers of a former channel, and the annotations that the warnings about mistyped
// annotations need.
func trimStranger(svc *corev1.Service, keys validation.Keys) {
	for key, value := range svc.Annotations {
		if len(value) > keptBytes {
			svc.Annotations[key] = strings.Clone(value[:keptBytes]) // a slice would keep the whole string in memory
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
	ours := keys.Conditions()
	var conditions []metav1.Condition
	for _, condition := range svc.Status.Conditions {
		if slices.Contains(ours, condition.Type) {
			conditions = append(conditions, metav1.Condition{Type: condition.Type, Status: condition.Status})
		}
	}
	svc.Spec = corev1.ServiceSpec{Type: svc.Spec.Type, LoadBalancerClass: svc.Spec.LoadBalancerClass}
	svc.Status = corev1.ServiceStatus{Conditions: conditions}
}

func declaresPlaceholder(svc *corev1.Service) bool { return svc.Annotations[declaredMark] != "" }
