package allocate

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
)

// hasAddress gives the Gateway an address, as its implementation does.
func (w *world) hasAddress() {
	gateway := gatewaytest.Get[*gatewayv1.Gateway](w.api.Shelf, "infra", "edge").DeepCopy()
	gateway.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "203.0.113.10"}}
	w.api.Put(gateway, false)
}

func TestARouteIsWrittenOnlyIfItsStatusChanges(t *testing.T) {
	w := newWorld(t)
	w.hasAddress()
	w.asks(t, "a", "auto")
	before := w.tcp("a").Object.GetResourceVersion()
	w.asks(t, "b", "auto")
	if after := w.tcp("a").Object.GetResourceVersion(); after != before {
		t.Errorf("route a is written, though only route b is new")
	}
	wrote := w.api.Wrote
	w.restart()
	w.rest()
	if w.api.Wrote != wrote {
		t.Errorf("a process that starts makes %d writes, though nothing changed", w.api.Wrote-wrote)
	}
}

// TestOurEntryInAStatusKeepsItsPlace: two controllers would otherwise put theirs last in turns without end.
func TestOurEntryInAStatusKeepsItsPlace(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "a", "auto")
	object, _ := w.tcp("a").Object.(*gatewayv1.TCPRoute)
	now := object.DeepCopy()
	now.Status.Parents = append(now.Status.Parents, gatewayv1.RouteParentStatus{ControllerName: "example.com/other"})
	w.api.Put(now, false)
	w.hasAddress() // our entry changes
	w.rest()
	var got []gatewayv1.GatewayController
	for _, p := range w.tcp("a").Status.Parents {
		got = append(got, p.ControllerName)
	}
	if want := []gatewayv1.GatewayController{allocator, "example.com/other"}; !slices.Equal(got, want) {
		t.Errorf("the entries are of %q, want %q", got, want)
	}
	if conditions, _ := saidOf(w.tcp("a")); !meta.IsStatusConditionTrue(conditions, w.keys.Programmed) {
		t.Errorf("it is told %v", conditions)
	}
}
