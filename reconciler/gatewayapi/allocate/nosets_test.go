package allocate

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/record"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
)

// TestRoutesKeepTheirNumbersWithoutListenerSets deletes the CRD of ListenerSets, and with it all ListenerSets.
func TestRoutesKeepTheirNumbersWithoutListenerSets(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "b", "auto")
	w.asks(t, "a", "20003")
	w.asks(t, "full", "20003")
	for _, name := range []string{"a", "b"} {
		w.drop(gatewaytest.Get[*gatewayv1.ListenerSet](w.api.Shelf, "shop", name))
	}
	all, events, before := w.line.kinds, record.NewFakeRecorder(10), w.told()
	w.line.kinds = slices.DeleteFunc(slices.Clone(all), func(kind string) bool { return kind == "ListenerSet" })
	w.line.Events = events
	if again := w.pass(t, w.line); again != 0 {
		t.Errorf("the next pass is due in %s", again)
	}
	for name, number := range map[string]string{"a": "20003", "b": "20000"} {
		conditions, _ := saidOf(w.tcp(name))
		c := meta.FindStatusCondition(conditions, w.keys.Programmed)
		if c == nil || c.Reason != string(NoListenerSets) || !strings.Contains(c.Message, "install their CRD") {
			t.Errorf("%s is told %v", name, c)
		}
		if got := w.tcp(name).Object.GetAnnotations()[w.keys.Ports]; got != number {
			t.Errorf("%s shows number %q, want %s", name, got, number)
		}
		if event := <-events.Events; !strings.HasPrefix(event, "Warning NoListenerSets") {
			t.Errorf("Event %s", event)
		}
	}
	w.isTold(t, "full", "MuxPortConflict", "20003")
	if w.told() != before {
		t.Errorf("a is told %s, and was told %s", w.told(), before)
	}
	wrote := w.api.Wrote
	if w.pass(t, w.line); w.api.Wrote != wrote || len(events.Events) > 0 {
		t.Errorf("quiet: %d writes, %d Events", w.api.Wrote-wrote, len(events.Events))
	}
	w.line.kinds, w.line.Events = all, nobody{}
	w.rest()
	w.has(t, map[string]int32{"a": 20003, "b": 20000})
	w.isTold(t, "full", "MuxPortConflict", "20003")
}

// TestAllocatorRunsWithoutListenerSets checks that there is a process that tells the routes.
func TestAllocatorRunsWithoutListenerSets(t *testing.T) {
	for name, c := range map[string]struct {
		kinds run.Kinds
		want  bool
	}{
		"all kinds":            {run.Kinds{"Gateway", "ListenerSet", "TCPRoute"}, true},
		"without ListenerSets": {run.Kinds{"Gateway", "UDPRoute"}, true},
		"without routes":       {run.Kinds{"Gateway", "ListenerSet"}, false},
		"without Gateways":     {run.Kinds{"ListenerSet", "TCPRoute"}, false},
	} {
		if (&Allocator{}).Suffices(c.kinds) != c.want {
			t.Errorf("%s: want %t", name, c.want)
		}
	}
}
