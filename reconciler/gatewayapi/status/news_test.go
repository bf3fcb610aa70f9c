package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// tells are News in one line each.
func tells(all []News) (lines []string) {
	for _, n := range all {
		kind := "Normal"
		if n.Warning {
			kind = "Warning"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", kind, n.Reason, n.Message))
	}
	return lines
}

// TestNewsAreChangesOfVerdicts changes a Gateway with a ListenerSet. Each step starts from the statuses of the last
// one.
func TestNewsAreChangesOfVerdicts(t *testing.T) {
	a := types.NamespacedName{Namespace: "infra", Name: "gateway/edge/a"}
	tenant := types.NamespacedName{Namespace: "shop", Name: "listenerset/s/p91"}
	g := given(nil)
	set, none := g.Sets[0], g.Sets[1]
	for _, step := range []struct {
		name              string
		change            func()
		gateway, set, non []string
	}{
		{"at first", func() { g.Numbers[a] = Number{Pending: "soon"} },
			[]string{"Normal Programmed listener b (81/TCP): on the mux"}, []string{
				"Normal Programmed listener p91 (91/TCP): on the mux",
				"Warning ListenerConflict listener p80 (80/TCP): port 80/TCP belongs to listener a of the Gateway, which comes " +
					"first: choose another number"},
			[]string{"Warning NotAllowed allowedListeners of Gateway infra/edge doesn't admit ListenerSets of namespace bank: " +
				"ask its owner"}},
		{"it gets its number", func() { g.Numbers[a] = Number{Programmed: true} },
			[]string{"Normal Programmed listener a (80/TCP): on the mux"}, nil, nil},
		{"nothing changes", func() { g.Now = noon.Add(time.Minute) }, nil, nil, nil},
		{"a process starts", func() { g.Numbers[a], g.Numbers[tenant] = Number{Undecided: true}, Number{Undecided: true} },
			nil, nil, nil},
		{"its number is changed", func() { g.Served.Gateway.Generation++; g.Numbers[a] = Number{Pending: "soon"} }, nil, nil,
			nil},
		{"it gets it", func() { g.Numbers[a] = Number{Programmed: true} },
			[]string{"Normal Programmed listener a (80/TCP): on the mux"}, nil, nil},
		{"the address goes",
			func() { g.Numbers[a], g.Numbers[tenant] = Number{Pending: "no address"}, Number{Pending: "no address"} }, nil, nil,
			nil},
		{"a channel has the numbers", func() {
			g.Numbers[a], g.Numbers[tenant] = Number{Refused: "taken"}, Number{Refused: "taken"}
		},
			[]string{"Warning PortUnavailable listener a (80/TCP): taken"},
			[]string{"Warning PortUnavailable listener p91 (91/TCP): taken"}, nil},
		{"another one has", func() { g.Numbers[a] = Number{Refused: "taken by another"} },
			[]string{"Warning PortUnavailable listener a (80/TCP): taken by another"}, nil, nil},
		{"the Gateway is refused", func() { g.Refused = &read.Refusal{Reason: "InvalidParameters", Message: "no"} },
			[]string{"Warning InvalidParameters no"},
			[]string{"Warning ParentNotAccepted the Gateway isn't accepted"}, nil},
		{"and served again", func() { g.Refused = nil; g.Numbers[a] = Number{Pending: "soon"} },
			[]string{"Normal Accepted it is accepted again",
				"Normal Accepted listener a (80/TCP): no longer refused", "Normal Programmed listener b (81/TCP): on the mux"},
			[]string{"Normal Accepted it is accepted again", "Warning PortUnavailable listener p91 (91/TCP): taken",
				"Warning ListenerConflict listener p80 (80/TCP): port 80/TCP belongs to listener a of the Gateway, which comes " +
					"first: choose another number"}, nil},
	} {
		step.change()
		gateway, ofSet, ofNone := g.Gateway(), g.ListenerSet(set), g.ListenerSet(none)
		for what, pair := range map[string][2][]string{
			"Gateway":                         {tells(GatewayNews(g.Served.Gateway, &gateway)), step.gateway},
			"ListenerSet":                     {tells(ListenerSetNews(set, &ofSet)), step.set},
			"ListenerSet that isn't admitted": {tells(ListenerSetNews(none, &ofNone)), step.non},
		} {
			if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", step.name, what, diff)
			}
		}
		g.Served.Gateway.Status, set.Status, none.Status = gateway, ofSet, ofNone
	}
}

func TestManyListenersAreOneEvent(t *testing.T) {
	gateway := &gatewayv1.Gateway{}
	var after gatewayv1.GatewayStatus
	for i := range 12 {
		name := gatewayv1.SectionName(fmt.Sprint("l", i))
		gateway.Spec.Listeners = append(gateway.Spec.Listeners,
			gatewayv1.Listener{Name: name, Port: int32(i + 1), Protocol: gatewayv1.TCPProtocolType})
		after.Listeners = append(after.Listeners, gatewayv1.ListenerStatus{Name: name,
			Conditions: []metav1.Condition{{Type: programmed, Status: metav1.ConditionTrue}}})
	}
	want := []string{"Normal Programmed listeners l0 (1/TCP), l1 (2/TCP), l2 (3/TCP), l3 (4/TCP), l4 (5/TCP), l5 " +
		"(6/TCP), l6 (7/TCP), l7 (8/TCP), and 4 more: on the mux"}
	if diff := cmp.Diff(want, tells(GatewayNews(gateway, &after))); diff != "" {
		t.Error(diff)
	}
}

func TestNewsOfARoute(t *testing.T) {
	said := func(is bool, reason, message string, found bool, why string) []metav1.Condition {
		c := conditions{}
		c.set(accepted, is, reason, message)
		c.set(resolved, found, "BackendNotFound", why)
		return c.all
	}
	fine := said(true, accepted, "", true, "")
	older := said(true, accepted, "listener a carries TCPRoute infra/older, which is older", true, "")
	for name, c := range map[string]struct {
		before, after []metav1.Condition
		want          []string
	}{
		"accepted at once": {nil, fine, nil},
		"nothing changes":  {older, older, nil},
		"refused": {fine, said(false, "NotAllowedByListeners", "no", true, ""),
			[]string{"Warning NotAllowedByListeners Gateway infra/edge: no"}},
		"still refused": {said(false, "X", "no", true, ""), said(false, "X", "no", true, ""), nil},
		"no longer refused": {said(false, "X", "no", true, ""), fine,
			[]string{"Normal Accepted Gateway infra/edge: no longer refused"}},
		"no longer carried": {fine, older, []string{
			"Warning NotCarried Gateway infra/edge: listener a carries TCPRoute infra/older, which is older"}},
		"carried": {older, fine, []string{"Normal Accepted Gateway infra/edge: carried now"}},
		"a backend is missing": {fine, said(true, accepted, "", false, "gone"),
			[]string{"Warning BackendNotFound Gateway infra/edge: gone"}},
		"it is found": {said(true, accepted, "", false, "gone"), fine,
			[]string{"Normal ResolvedRefs Gateway infra/edge: all backends are found"}},
	} {
		ref := gatewayv1.ParentReference{Name: "edge", SectionName: ptr.To(gatewayv1.SectionName("a"))}
		object := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "r"}}
		if c.before != nil {
			object.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: ref, ControllerName: "another"},
				{ParentRef: ref, ControllerName: "us", Conditions: c.before}}
		}
		route, _ := read.RouteOf(object)
		after := []gatewayv1.RouteParentStatus{{ParentRef: ref, ControllerName: "another",
			Conditions: said(false, "X", "another's", true, "")},
			{ParentRef: ref, ControllerName: "us", Conditions: c.after}}
		if diff := cmp.Diff(c.want, tells(RouteNews("us", &route, after))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
