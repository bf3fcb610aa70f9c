package allocate

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// release returns another process with the stage's caches. It serves Gateways in one namespace.
func (w *world) release(name, namespace string) *line {
	options := *w.line.Options
	options.Name, options.Namespaces = name, []string{namespace}
	return &line{Options: &options, keys: w.keys, kinds: w.line.kinds, cache: w.cache, live: w.line.live,
		write: w.line.write, store: w.line.store,
		memories: map[types.NamespacedName]*memory{}}
}

// pass lets a process reconcile the Gateway infra/edge. It returns when the process wants to do so again.
func (w *world) pass(t *testing.T, l *line) time.Duration {
	t.Helper()
	for _, kind := range w.api.Kinds() {
		w.deliver(kind)
	}
	again, err := l.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.edge()})
	if err != nil {
		t.Fatal(err)
	}
	return again.RequeueAfter
}

// told returns what the route a is told: the condition Accepted.
func (w *world) told() string {
	conditions, _ := saidOf(w.tcp("a"))
	c := meta.FindStatusCondition(conditions, w.keys.Accepted)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

const unservedText = "the reconciler svc-mux/lease gives numbers on Gateways in bank alone, and Gateway infra/edge " +
	"isn't there: name a Gateway in one of those namespaces, or have that reconciler serve namespace infra too " +
	"(rbac.muxNamespaces of the chart, --mux-namespaces)"

func TestTwoReleasesAgreeOnARoute(t *testing.T) {
	w := newWorld(t)
	w.line.Namespaces = []string{"infra"}
	other := w.release("svc-mux/lease", "bank")
	w.asks(t, "a", "auto")
	w.now = w.now.Add(time.Hour)
	before := w.api.Wrote
	for range 3 {
		w.pass(t, other)
		w.pass(t, w.line)
	}
	if w.api.Wrote != before || !strings.HasPrefix(w.told(), "True Accepted") {
		t.Errorf("%d writes, though nothing changed: %s", w.api.Wrote-before, w.told())
	}
}

func TestARouteOfAnUnservedGatewayIsTold(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: "svc-mux.nowake.ai/Accepted", Status: status, Reason: reason, Message: message}
	}
	const want = "False MuxNotServed: " + unservedText
	for name, test := range map[string]struct {
		said *metav1.Condition
		want string // empty: nothing is written
	}{
		"no status": {nil, want},
		"our report for other namespaces": {
			condition("False", "MuxNotServed", "the reconciler svc-mux/lease gives numbers on Gateways in shop alone"), want},
		"another release's report": {
			condition("False", "MuxNotServed", "the reconciler svc-mux/lease-2 gives numbers on Gateways in shop alone"), ""},
		"another release accepts it": {condition("True", "Accepted", ""), ""},
		"another release refuses it": {condition("False", "MuxPortConflict", "route shop/b has it"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.admit("no")
			events := record.NewFakeRecorder(10)
			other := w.release("svc-mux/lease", "bank")
			other.Events = events
			route := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
			route.Annotations = map[string]string{w.keys.Gateway: "infra/edge", w.keys.Ports: "20000"}
			route.Spec.ParentRefs = []gatewayv1.ParentReference{{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: "a"}}
			if test.said != nil {
				route.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: allocator,
					Conditions: []metav1.Condition{*test.said}}}
			}
			w.put(route)
			before := w.told()
			w.now = w.now.Add(time.Minute)
			again := w.pass(t, other)
			if test.want == "" {
				if w.api.Wrote > 0 || w.told() != before || len(events.Events) > 0 {
					t.Fatalf("%d writes: %s", w.api.Wrote, w.told())
				}
				return
			}
			conditions, _ := saidOf(w.tcp("a"))
			if w.told() != test.want || again != 0 || !meta.IsStatusConditionFalse(conditions, w.keys.Programmed) ||
				w.tcp("a").Object.GetAnnotations()[w.keys.Ports] != "20000" {
				t.Fatalf("got %s", w.told())
			}
			if event := <-events.Events; event != "Warning MuxNotServed "+unservedText {
				t.Errorf("Event %s", event)
			}
			w.pass(t, other)
			if w.api.Wrote != 1 || len(events.Events) > 0 {
				t.Errorf("quiet: %d writes", w.api.Wrote)
			}
			w.rest() // another release begins to serve it
			before, wrote := w.told(), w.api.Wrote
			if w.pass(t, other); w.told() != before || !strings.HasPrefix(before, "False NamespaceNotAllowed") ||
				w.api.Wrote != wrote {
				t.Errorf("the release that serves it says %s, and then it is told %s", before, w.told())
			}
		})
	}
}

// TestANewRouteOfAnUnservedGatewayIsLeftToOthers: another release has time to write the status first.
func TestANewRouteOfAnUnservedGatewayIsLeftToOthers(t *testing.T) {
	w := newWorld(t)
	other := w.release("svc-mux/lease", "bank")
	w.put(&gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a",
		Annotations: map[string]string{w.keys.Gateway: "infra/edge"}}})
	w.now = w.now.Add(time.Second)
	if again := w.pass(t, other); again != othersPatience-time.Second || w.api.Wrote > 0 {
		t.Fatalf("%d writes, the next pass in %s", w.api.Wrote, again)
	}
	w.now = w.now.Add(othersPatience - time.Second)
	if again := w.pass(t, other); again != 0 || w.api.Wrote != 1 {
		t.Fatalf("%d writes, the next pass in %s", w.api.Wrote, again)
	}
}
