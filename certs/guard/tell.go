package guard

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// teller emits an Event when a fault comes, and one when the last has gone. What is said of a fault may change while it
// lasts; that isn't told again.
type teller struct {
	events record.EventRecorder
	told   map[[2]string]bool // by reason and object
}

func newTeller(events record.EventRecorder) teller {
	return teller{events: events, told: map[[2]string]bool{}}
}

func (t *teller) tell(status Status, about runtime.Object) {
	now := map[[2]string]bool{}
	for _, fault := range status.Faults {
		key := [2]string{string(fault.Reason), fault.Object}
		if !t.told[key] && !now[key] {
			t.events.Event(about, corev1.EventTypeWarning, string(fault.Reason), fault.Message)
		}
		now[key] = true
	}
	if len(t.told) > 0 && len(now) == 0 {
		t.events.Event(about, corev1.EventTypeNormal, string(OnGuard), "the webhook is asked about muxes and channels, and trusted")
	}
	t.told = now
}

// about is the webhook's Service, where people look, though it may be gone; or the configuration, which is in no
// namespace, where none was ever named.
func (g *Guard) about() runtime.Object {
	entries := g.seen.entries()
	for i := range entries {
		if place := targetOf(&entries[i].ClientConfig); place.service != "" {
			g.place = place
			break
		}
	}
	if svc := g.services[g.place]; svc != nil {
		return svc
	}
	if g.place.service != "" {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: g.place.namespace, Name: g.place.service}}
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: g.options.Configuration}}
}
