package guard

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// eventEmitter emits an Event for each new fault, and one when the last fault has gone. A fault whose message changes
// isn't emitted again.
type eventEmitter struct {
	events   record.EventRecorder
	reported map[[2]string]bool // the current faults, by reason and object
}

func newEventEmitter(events record.EventRecorder) eventEmitter {
	return eventEmitter{events: events, reported: map[[2]string]bool{}}
}

func (t *eventEmitter) emit(status Status, object runtime.Object) {
	now := map[[2]string]bool{}
	for _, fault := range status.Faults {
		key := [2]string{string(fault.Reason), fault.Object}
		if !t.reported[key] && !now[key] {
			t.events.Event(object, corev1.EventTypeWarning, string(fault.Reason), fault.Message)
		}
		now[key] = true
	}
	if len(t.reported) > 0 && len(now) == 0 {
		t.events.Event(object, corev1.EventTypeNormal, string(OnGuard),
			"API servers reach the webhook and trust its certificate")
	}
	t.reported = now
}

// eventObject returns the object of the Events: the webhook's Service, even if it is gone, since users look there. If
// the configuration never named a Service, it returns the configuration, which has no namespace.
func (g *Guard) eventObject() runtime.Object {
	entries := g.seen.entries()
	for i := range entries {
		if place := targetOf(&entries[i].ClientConfig); place.service != "" {
			g.lastPlace = place
			break
		}
	}
	if svc := g.services[g.lastPlace]; svc != nil {
		return svc
	}
	if g.lastPlace.service != "" {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: g.lastPlace.namespace, Name: g.lastPlace.service}}
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: g.options.Configuration}}
}
