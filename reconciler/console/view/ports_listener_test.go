package view

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

func TestListenerIsProgrammedOnceTheMuxHasItsPortAndAnAddress(t *testing.T) {
	address := []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
	for name, c := range map[string]struct {
		address []corev1.LoadBalancerIngress
		live    bool
		want    string
	}{
		"port and address": {address, true, "programmed"},
		"no address":       {nil, true, "pending"},
		"no port":          {address, false, "pending"},
	} {
		if got := listenerState(&plan.ObservedMux{Address: c.address}, c.live); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
