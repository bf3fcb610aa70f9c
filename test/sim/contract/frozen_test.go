package contract

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// TestFrozenMuxKeepsItsNumbers changes one thing after the freeze.
func TestFrozenMuxKeepsItsNumbers(t *testing.T) {
	mux, web, ledger := key("svc-mux", "mux"), key("app", "web"), key("svc-mux", "mux-port-allocations")
	for name, after := range map[string]struct {
		told   string
		happen func(*World)
	}{
		"nothing changes":      {"", func(*World) {}},
		"a port is removed":    {"frozen: ports", func(w *World) { w.Services[mux].Spec.Ports = nil }},
		"the ledger is edited": {"frozen: ledger", func(w *World) { w.ConfigMaps[ledger].Data["allocations.json"] = "{}" }},
		"the address changes, and the channel doesn't follow": {"frozen: address", func(w *World) {
			w.Services[mux].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.20"}}
		}},
		"a backend is removed, and the slice on the mux doesn't follow": {"slices:", func(w *World) {
			w.Slices[key("app", "web-1")].Endpoints = nil
		}},
		"the channel asks for another number": {"", func(w *World) {
			w.Services[web].Annotations[prefix+"external-ports"] = "http:300"
			w.Slices[key("app", "web-1")].Ports[0].Port = ptr.To(int32(8081))
		}},
		"the channel is deleted": {"", func(w *World) { delete(w.Services, web); delete(w.Slices, key("app", "web-1")) }},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := world(t), world(t)
			after.happen(now)
			if wrong := now.Frozen(before); !strings.HasPrefix(wrong, after.told) || after.told == "" && wrong != "" {
				t.Errorf("the difference is %q, want %q", wrong, after.told)
			}
		})
	}
}
