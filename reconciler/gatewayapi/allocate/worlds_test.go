package allocate

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// world is a stage with the Gateway infra/edge. Numbers 20000 to 20003 are given, and its own listener has 20001.
type world struct{ *stage }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{newStage(t)}
	w.gateway(nil)
	return w
}

// gateway creates the Gateway.
func (w *world) gateway(annotations map[string]string) {
	from := gatewayv1.NamespacesFromSelector
	gateway := &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge",
			Annotations: map[string]string{w.keys.PortRange: "20000-20003"}},
		Spec: gatewayv1.GatewaySpec{
			Listeners: []gatewayv1.Listener{{Name: "web", Port: 20001, Protocol: gatewayv1.HTTPProtocolType}},
			AllowedListeners: &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &from,
				Selector: edgeYes()}},
		},
	}
	for key, value := range annotations {
		gateway.Annotations[key] = value
	}
	w.put(gateway)
	w.admit("yes")
}

// admit labels the namespace shop. The Gateway admits it with yes.
func (w *world) admit(edge string) {
	w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"edge": edge}}})
}

// asks creates a TCPRoute in namespace shop that asks for a number, and lets the allocator follow.
func (w *world) asks(t *testing.T, name, number string) {
	t.Helper()
	w.put(&gatewayv1.TCPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
			Annotations: map[string]string{w.keys.Gateway: "infra/edge", w.keys.ExternalPorts: number}},
		Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{
			ParentRefs: []gatewayv1.ParentReference{{Kind: ptr.To(gatewayv1.Kind("ListenerSet")),
				Name: gatewayv1.ObjectName(name)}},
		}},
	})
	w.rest()
}

func (w *world) tcp(name string) *read.Route { return w.route(read.TCPRoute, "shop", name) }

// has checks the numbers of routes.
func (w *world) has(t *testing.T, numbers map[string]int32) {
	t.Helper()
	for name, number := range numbers {
		if got := w.publishedFor(w.tcp(name), w.edge()); got != number {
			t.Errorf("%s has %d, want %d", name, got, number)
		}
	}
}

// isTold checks the condition Accepted of a route that is refused.
func (w *world) isTold(t *testing.T, name, reason, text string) {
	t.Helper()
	conditions, _ := saidOf(w.tcp(name))
	c := meta.FindStatusCondition(conditions, w.keys.Accepted)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || !strings.Contains(c.Message, text) {
		t.Errorf("%s is told %v, want %s with %q", name, c, reason, text)
	}
}

func TestAGatewayThatComesBackGivesTheSameNumbers(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"c", "b", "a"} {
		w.asks(t, name, "auto")
	}
	want := map[string]int32{"c": 20000, "b": 20002, "a": 20003}
	w.has(t, want)
	w.drop(gatewaytest.Get[*gatewayv1.Gateway](w.api.Shelf, "infra", "edge"))
	w.rest()
	w.isTold(t, "a", "MuxNotFound", "there is no Gateway infra/edge")
	for _, name := range []string{"c", "b", "a"} { // the owner of the Gateway deletes its ListenerSets, too
		w.drop(gatewaytest.Get[*gatewayv1.ListenerSet](w.api.Shelf, "shop", name))
	}
	w.restart()
	w.gateway(nil)
	w.rest()
	w.has(t, want)
}

// theirs is a user's ListenerSet with number 20000.
func theirs(name string) *gatewayv1.ListenerSet {
	return &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: gatewayv1.ListenerSetSpec{
			ParentRef: gatewayv1.ParentGatewayReference{Namespace: ptr.To(gatewayv1.Namespace("infra")), Name: "edge"},
			Listeners: []gatewayv1.ListenerEntry{{Name: "tcp", Port: 20000, Protocol: gatewayv1.TCPProtocolType}},
		}}
}

func TestAConflictNamesTheSameListenerSetInEachPass(t *testing.T) {
	w := newWorld(t)
	w.put(theirs("s"))
	w.put(theirs("t"))
	w.asks(t, "a", "20000")
	w.isTold(t, "a", "MuxPortConflict", "ListenerSet shop/s")
	before := w.api.Wrote
	for range 4 { // the cache lists in another order each time
		w.reconcile("gateway", w.edge())
		_ = w.cache.List(t.Context(), &gatewayv1.ListenerSetList{})
	}
	if w.api.Wrote != before {
		t.Errorf("%d writes, though nothing changed", w.api.Wrote-before)
	}
}

func TestAListenerSetThatIsNotOursIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	theirs := theirs("a")
	w.put(theirs)
	w.asks(t, "a", "auto")
	w.isTold(t, "a", "ListenerSetTaken", "ListenerSet shop/a is there")
	w.asks(t, "b", "20000")
	w.isTold(t, "b", "MuxPortConflict", "ListenerSet shop/a")
	if is := gatewaytest.Get[*gatewayv1.ListenerSet](w.api.Shelf, "shop", "a"); !equality.Semantic.DeepEqual(is, theirs) {
		t.Errorf("the ListenerSet is %v", is)
	}
	w.drop(theirs)
	w.rest()
	w.has(t, map[string]int32{"a": 20002, "b": 20000})
}

func TestNoOtherRouteGetsTheNumberOfAWithdrawnOne(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "a", "auto")
	w.has(t, map[string]int32{"a": 20000})
	route := w.tcp("a").Object.(*gatewayv1.TCPRoute).DeepCopy()
	route.Annotations[w.keys.Disabled] = "true"
	w.put(route)
	w.rest()
	w.isTold(t, "a", "Disabled", "no other route gets its number")
	w.asks(t, "b", "auto")
	w.has(t, map[string]int32{"a": 0, "b": 20002})
	route = route.DeepCopy()
	delete(route.Annotations, w.keys.Disabled)
	w.put(route)
	w.rest()
	w.has(t, map[string]int32{"a": 20000, "b": 20002})
}

func TestALostLedgerIsRebuiltFromListenerSets(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"c", "b", "a"} {
		w.asks(t, name, "auto")
	}
	w.drop(w.tcp("c").Object.(*gatewayv1.TCPRoute))
	w.rest()
	w.judge.harmed[w.edge()] = true
	w.drop(w.ledgerOf(w.edge()))
	w.rebuildFrom = w.now.Add(15 * time.Second)
	w.restart()
	w.rest()
	if claims := w.claimsIn(w.ledgerOf(w.edge())); len(claims) != 2 {
		t.Errorf("the ledger has %v", claims)
	}
	w.asks(t, "d", "auto")
	w.has(t, map[string]int32{"b": 20002, "a": 20003, "d": 20000})
}

func TestAFullRangeIsSaid(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		w.asks(t, name, "auto")
	}
	w.has(t, map[string]int32{"a": 20000, "b": 20002, "c": 20003, "d": 0})
	w.isTold(t, "d", "InvalidPortMapping", "20000-20003")
	w.drop(w.tcp("b").Object.(*gatewayv1.TCPRoute))
	w.rest()
	w.has(t, map[string]int32{"a": 20000, "c": 20003, "d": 20002})
}

func TestANamespaceThatIsNoLongerAllowedLosesItsNumbers(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "a", "auto")
	w.has(t, map[string]int32{"a": 20000})
	w.admit("no")
	w.rest()
	w.has(t, map[string]int32{"a": 0})
	w.isTold(t, "a", "NamespaceNotAllowed", "shop")
	w.admit("yes")
	w.rest()
	w.has(t, map[string]int32{"a": 20000})
}

func TestARouteThatTheCacheLacksKeepsItsListenerSetThoughTheLedgerIsLost(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "a", "auto")
	w.restart()
	w.judge.harmed[w.edge()] = true
	w.drop(w.ledgerOf(w.edge()))
	w.cache.Drop(w.tcp("a").Object.(*gatewayv1.TCPRoute))
	w.reconcile("gateway", w.edge())
	w.has(t, map[string]int32{"a": 20000})
	w.rest()
	w.has(t, map[string]int32{"a": 20000})
}

func TestARouteThatTheCacheLacksKeepsItsNumber(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "a", "auto")
	w.restart()
	route := w.tcp("a").Object.(*gatewayv1.TCPRoute)
	w.cache.Drop(route)
	w.reconcile("gateway", w.edge())
	w.has(t, map[string]int32{"a": 20000})
	if claim := w.claimsIn(w.ledgerOf(w.edge()))[slot{w.edge(), 20000, "TCP"}]; claim.State != plan.Held {
		t.Errorf("the claim is %s", claim.State)
	}
}

// TestANameThatIsThereTwiceIsPutRight has a tenant who copies the claim's name from one ListenerSet to another, and
// then adds a second listener.
func TestANameThatIsThereTwiceIsPutRight(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "a", "auto")
	w.asks(t, "b", "auto")
	set := func(name string) *gatewayv1.ListenerSet {
		return gatewaytest.Get[*gatewayv1.ListenerSet](w.api.Shelf, "shop", name).DeepCopy()
	}
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		from, to := set(names[0]), set(names[1])
		to.Annotations[w.keys.PortName] = from.Annotations[w.keys.PortName]
		w.put(to)
		w.asks(t, "after-"+to.Name, map[string]string{"a": "444", "b": "445"}[to.Name]) // the Gateway isn't frozen
		w.has(t, map[string]int32{"a": 20000, "b": 20002, "after-" + to.Name: map[string]int32{"a": 444, "b": 445}[to.Name]})
	}
	grows := set("a")
	grows.Spec.Listeners = append(grows.Spec.Listeners,
		gatewayv1.ListenerEntry{Name: "more", Port: 20003, Protocol: gatewayv1.TCPProtocolType})
	w.put(grows)
	w.rest()
	w.has(t, map[string]int32{"a": 20000, "b": 20002})
	if is := set("a"); len(is.Spec.Listeners) != 1 {
		t.Errorf("the ListenerSet has %v", is.Spec.Listeners)
	}
	gateway := set("b")
	gateway.Annotations[w.keys.PortName] = "listener web"
	w.put(gateway)
	w.rest()
	w.has(t, map[string]int32{"a": 20000, "b": 20002})
}

// TestANameOfAListenerInATenantsSetIsNotBelieved: with it, a rebuilt ledger would have a name twice, and the
// Gateway would stay frozen for everybody.
func TestANameOfAListenerInATenantsSetIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "a", "auto")
	set := gatewaytest.Get[*gatewayv1.ListenerSet](w.api.Shelf, "shop", "a").DeepCopy()
	set.Annotations[w.keys.PortName] = "listener web"
	w.judge.harmed[w.edge()] = true
	w.put(set)
	w.drop(w.ledgerOf(w.edge()))
	w.restart()
	w.asks(t, "b", "auto")
	w.has(t, map[string]int32{"a": 20002, "b": 20003}) // nothing tells any more whose 20000 was
}

// TestAnOlderCopyOfTheLedgerFreezesTheGateway restores the ledger of an hour ago. Since then, route a gave its number
// back, and b has it.
func TestAnOlderCopyOfTheLedgerFreezesTheGateway(t *testing.T) {
	w := newWorld(t)
	w.asks(t, "a", "20000")
	copied := w.ledgerOf(w.edge()).DeepCopy()
	w.asks(t, "a", "20003")
	w.asks(t, "b", "20000")
	w.has(t, map[string]int32{"a": 20003, "b": 20000})
	w.judge.harmed[w.edge()] = true
	w.put(copied)
	w.restart()
	w.asks(t, "c", "auto")
	w.has(t, map[string]int32{"a": 20003, "b": 20000, "c": 0})
	w.isTold(t, "c", "Waiting", "gateway-edge-route-allocations is of generation")
	w.drop(w.ledgerOf(w.edge())) // as the message says
	w.rest()
	w.has(t, map[string]int32{"a": 20003, "b": 20000, "c": 20002})
}
