package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// short is a list of conditions as "Accepted=True/Accepted".
func short(conditions []metav1.Condition) string {
	var words []string
	for _, kind := range []string{accepted, programmed, conflicted, resolved} {
		if c := meta.FindStatusCondition(conditions, kind); c != nil {
			words = append(words, c.Type+"="+string(c.Status)+"/"+c.Reason)
		}
	}
	return strings.Join(words, " ")
}

// given is a Gateway with two listeners, a ListenerSet that it admits and one that it doesn't.
func given(change func(*Given)) *Given {
	listener := func(name string, port int32) gatewayv1.Listener {
		return gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: port, Protocol: gatewayv1.TCPProtocolType}
	}
	set := func(namespace string, ports ...int32) *gatewayv1.ListenerSet {
		s := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s", Generation: 3,
			UID: types.UID(namespace)}}
		s.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: "edge", Namespace: ptr.To(gatewayv1.Namespace("infra"))}
		for _, port := range ports {
			s.Spec.Listeners = append(s.Spec.Listeners,
				gatewayv1.ListenerEntry{Name: gatewayv1.SectionName(fmt.Sprint("p", port)), Port: port,
					Protocol: gatewayv1.TCPProtocolType})
		}
		return s
	}
	o := &read.Observed{
		Gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge", Generation: 7},
			Spec: gatewayv1.GatewaySpec{
				Listeners: []gatewayv1.Listener{listener("a", 80), listener("b", 81)},
				AllowedListeners: &gatewayv1.AllowedListeners{
					Namespaces: &gatewayv1.ListenerNamespaces{From: ptr.To(gatewayv1.NamespacesFromSelector),
						Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}}}},
			}},
		Sets:       []*gatewayv1.ListenerSet{set("shop", 91, 80), set("bank", 92)},
		Namespaces: map[string]labels.Set{"shop": {"edge": "yes"}},
	}
	g := &Given{Served: read.Judge(o), Address: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}},
		Numbers: map[types.NamespacedName]Number{}, Now: noon}
	for i := range g.Listeners {
		g.Numbers[g.Listeners[i].Key] = Number{Programmed: true}
	}
	if change != nil {
		change(g)
	}
	return g
}

func TestConditionsSayWhatBecameOfEachPart(t *testing.T) {
	a := types.NamespacedName{Namespace: "infra", Name: "gateway/edge/a"}
	const served = "Accepted=True/Accepted Programmed=True/Programmed Conflicted=False/NoConflicts " +
		"ResolvedRefs=True/ResolvedRefs"
	for name, c := range map[string]struct {
		change                func(*Given)
		gateway, a, set, none string
	}{
		"all is well": {nil, "Accepted=True/Accepted Programmed=True/Programmed", served,
			"Accepted=True/ListenersNotValid Programmed=True/Programmed",
			"Accepted=False/NotAllowed Programmed=False/NotAllowed"},
		"no address yet": {func(g *Given) { g.Address = nil }, "Accepted=True/Accepted Programmed=False/AddressNotAssigned",
			served,
			"Accepted=True/ListenersNotValid Programmed=False/ParentNotProgrammed",
			"Accepted=False/NotAllowed Programmed=False/NotAllowed"},
		"a number that is taken": {func(g *Given) { g.Numbers[a] = Number{Refused: "taken"} },
			"Accepted=True/ListenersNotValid Programmed=True/Programmed",
			"Accepted=False/PortUnavailable Programmed=False/Invalid Conflicted=False/NoConflicts " +
				"ResolvedRefs=True/ResolvedRefs",
			"Accepted=True/ListenersNotValid Programmed=True/Programmed",
			"Accepted=False/NotAllowed Programmed=False/NotAllowed"},
		"a number on its way": {func(g *Given) { g.Numbers[a] = Number{Pending: "soon"} },
			"Accepted=True/Accepted Programmed=True/Programmed",
			"Accepted=True/Accepted Programmed=False/Pending Conflicted=False/NoConflicts ResolvedRefs=True/ResolvedRefs",
			"Accepted=True/ListenersNotValid Programmed=True/Programmed",
			"Accepted=False/NotAllowed Programmed=False/NotAllowed"},
		"a Gateway that isn't served": {func(g *Given) {
			g.Refused = &read.Refusal{Reason: "InvalidParameters", Message: "no"}
		},
			"Accepted=False/InvalidParameters Programmed=False/Invalid",
			"Accepted=False/InvalidParameters Programmed=False/Invalid Conflicted=False/NoConflicts " +
				"ResolvedRefs=True/ResolvedRefs",
			"Accepted=False/ParentNotAccepted Programmed=False/ParentNotProgrammed",
			"Accepted=False/NotAllowed Programmed=False/NotAllowed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := given(c.change)
			gateway, set, none := g.Gateway(), g.ListenerSet(g.Sets[0]), g.ListenerSet(g.Sets[1])
			for what, pair := range map[string][2]string{
				"the Gateway":      {short(gateway.Conditions), c.gateway},
				"listener a":       {short(gateway.Listeners[0].Conditions), c.a},
				"the ListenerSet":  {short(set.Conditions), c.set},
				"the set of bank":  {short(none.Conditions), c.none},
				"its second entry": {short(set.Listeners[1].Conditions)[:len("Accepted=False/")], "Accepted=False/"},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s says\n%s, want\n%s", what, pair[0], pair[1])
				}
			}
			if got := gateway.Conditions[0].ObservedGeneration; got != 7 || set.Conditions[0].ObservedGeneration != 3 {
				t.Errorf("observed generation %d", got)
			}
		})
	}
}

// A status that is computed again keeps the times of conditions that didn't change, so that nothing is written.
func TestWhatDoesNotChangeKeepsItsTime(t *testing.T) {
	g := given(nil)
	g.Served.Gateway.Status = g.Gateway()
	g.Sets[0].Status = g.ListenerSet(g.Sets[0])
	g.Now = noon.Add(time.Hour)
	for _, c := range append(g.Gateway().Conditions, g.Gateway().Listeners[0].Conditions...) {
		if !c.LastTransitionTime.Time.Equal(noon) {
			t.Errorf("%s changed at %s", c.Type, c.LastTransitionTime)
		}
	}
	for _, c := range g.ListenerSet(g.Sets[0]).Listeners[0].Conditions {
		if !c.LastTransitionTime.Time.Equal(noon) {
			t.Errorf("%s of a ListenerSet changed at %s", c.Type, c.LastTransitionTime)
		}
	}
	if n := *g.Gateway().AttachedListenerSets; n != 1 {
		t.Errorf("%d ListenerSets are attached", n)
	}
}

func TestARouteIsToldAboutEachParent(t *testing.T) {
	route := func(name string, second int) *gatewayv1.TCPRoute {
		r := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name, UID: types.UID(name),
			Generation:        2,
			CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(second) * time.Second))}}
		r.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "edge", SectionName: ptr.To(gatewayv1.SectionName("a"))},
			{Name: "edge", SectionName: ptr.To(gatewayv1.SectionName("z"))}, {Name: "another"}}
		return r
	}
	g := given(nil)
	older, _ := read.RouteOf(route("older", 1))
	younger, _ := read.RouteOf(route("younger", 2))
	g.Observed.Routes = []read.Route{younger, older}
	g.Served = read.Judge(g.Observed)
	said := g.Parents("us", &younger)
	if len(said) != 2 || short(said[0].Conditions) != "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs" ||
		short(said[1].Conditions) != "Accepted=False/NoMatchingParent ResolvedRefs=True/ResolvedRefs" {
		t.Errorf("%+v", said)
	}
	if c := meta.FindStatusCondition(said[0].Conditions, accepted); !strings.Contains(c.Message, "TCPRoute infra/older") ||
		c.ObservedGeneration != 2 {
		t.Errorf("it isn't told that an older route is carried: %+v", c)
	}
	if c := meta.FindStatusCondition(g.Parents("us", &older)[0].Conditions, accepted); c.Message != "" {
		t.Errorf("the older route is told %q", c.Message)
	}
}

// TestStatusKeepsNumbersUntilTheyAreDecided: a process that starts has decided nothing, and writes the statuses that
// are there.
func TestStatusKeepsNumbersUntilTheyAreDecided(t *testing.T) {
	a := types.NamespacedName{Namespace: "infra", Name: "gateway/edge/a"}
	b := types.NamespacedName{Namespace: "infra", Name: "gateway/edge/b"}
	before := given(func(g *Given) { g.Numbers[b] = Number{Refused: "a channel has it"} })
	set := before.Sets[0]
	before.Served.Gateway.Status, set.Status = before.Gateway(), before.ListenerSet(set)
	gateway, ofSet := before.Served.Gateway.Status.DeepCopy(), set.Status.DeepCopy()
	for key := range before.Numbers {
		before.Numbers[key] = Number{Undecided: true}
	}
	if diff := cmp.Diff(*gateway, before.Gateway()); diff != "" {
		t.Errorf("Gateway (-before +after the restart):\n%s", diff)
	}
	if diff := cmp.Diff(*ofSet, before.ListenerSet(set)); diff != "" {
		t.Errorf("ListenerSet (-before +after the restart):\n%s", diff)
	}
	before.Served.Gateway.Generation++
	after := before.Gateway()
	for i, name := range []types.NamespacedName{a, b} {
		if got, want := short(after.Listeners[i].Conditions), "Accepted=True/Accepted Programmed=False/Pending "+
			"Conflicted=False/NoConflicts ResolvedRefs=True/ResolvedRefs"; got != want {
			t.Errorf("%s after an edit: got %s, want %s", name, got, want)
		}
	}
}

// TestStatusKeepsTheAdviceThatItGives: a process that starts may have newer advice, and writes it once the refusal
// itself is another.
func TestStatusKeepsTheAdviceThatItGives(t *testing.T) {
	a := types.NamespacedName{Namespace: "infra", Name: "gateway/edge/a"}
	for name, test := range map[string]struct{ refusal, want string }{
		"newer advice":    {"port 80 is app/web's: ask for 85", "port 80 is app/web's: ask for 81"},
		"another refusal": {"port 80 is app/api's: ask for 85", "port 80 is app/api's: ask for 85"},
		"no advice":       {"port 80 is app/web's", "port 80 is app/web's"},
	} {
		t.Run(name, func(t *testing.T) {
			g := given(func(g *Given) { g.Numbers[a] = Number{Refused: "port 80 is app/web's: ask for 81"} })
			g.Served.Gateway.Status = g.Gateway()
			g.Numbers[a] = Number{Refused: test.refusal}
			if got := meta.FindStatusCondition(g.Gateway().Listeners[0].Conditions, accepted).Message; got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}
