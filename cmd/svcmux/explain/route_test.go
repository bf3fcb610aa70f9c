package explain

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/validation"
)

func TestArgumentsThatNameARoute(t *testing.T) {
	for argument, want := range map[string]string{
		"tcproute/broker-0": "TCPRoute /broker-0", "TCPRoutes/a.b": "TCPRoute /a.b", "udproute/dns": "UDPRoute /dns",
		"shop/web": "", "tcproute/": "", "tcproute": "",
		"tcproute/shop/broker-0": "TCPRoute shop/broker-0", "udproutes/shop/dns": "UDPRoute shop/dns", "tcproute//a": "",
		"tcproute/a/": "", "tcproute/a/b/c": "",
	} {
		got := ""
		if kind, key, is := routeNamed(argument); is {
			got = kind + " " + key.String()
		}
		if got != want {
			t.Errorf("%s is %q, want %q", argument, got, want)
		}
	}
}

func TestAChainOfARoute(t *testing.T) {
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	keys := language.Keys()
	said := func(controller gatewayv1.GatewayController, conditions ...metav1.Condition) gatewayv1.RouteParentStatus {
		return gatewayv1.RouteParentStatus{ParentRef: gatewayv1.ParentReference{Kind: ptr.To(gatewayv1.Kind("ListenerSet")),
			Name: "broker"}, ControllerName: controller,
			Conditions: conditions}
	}
	condition := func(kind, status, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
	}
	asks := map[string]string{keys.Gateway: "infra/edge", keys.Ports: "20003"}
	for name, c := range map[string]struct {
		annotations map[string]string
		parents     []gatewayv1.RouteParentStatus
		want        string
		listener    []metav1.Condition
	}{
		"all is well": {asks,
			[]gatewayv1.RouteParentStatus{said(read.Controller(&keys), condition(keys.Accepted, "True", "Accepted", "")),
				said("example.com/gateway", condition("Accepted", "True", "Accepted", "Accepted"),
					condition("ResolvedRefs", "True", "ResolvedRefs", ""))},
			"ok a TCPRoute; ok 20003 on Gateway infra/edge; ok ListenerSet shop/broker, by example.com/gateway: accepted; ok " +
				"listener tcp of ListenerSet shop/broker is open",
			[]metav1.Condition{condition("Accepted", "True", "Accepted", ""),
				condition("Programmed", "True", "Programmed", "")}},
		"another listener has the port": {asks,
			[]gatewayv1.RouteParentStatus{said(read.Controller(&keys), condition(keys.Accepted, "True", "Accepted", "")),
				said("example.com/gateway", condition("Accepted", "True", "Accepted", ""))},
			"ok a TCPRoute; ok 20003 on Gateway infra/edge; ok ListenerSet shop/broker, by example.com/gateway: accepted; " +
				"bad PortUnavailable listener tcp of ListenerSet shop/broker: evil/grab has it",
			[]metav1.Condition{condition("Accepted", "False", "PortUnavailable", "evil/grab has it"),
				condition("Programmed", "False", "Invalid", "")}},
		"no number": {asks, []gatewayv1.RouteParentStatus{said(read.Controller(&keys),
			condition(keys.Accepted, "False", "MuxFull", "it is full"))},
			"ok a TCPRoute; bad MuxFull it is full; bad no implementation of the Gateway API says anything about it", nil},
		"no allocator": {asks, nil, "ok a TCPRoute; bad the allocator says nothing about it; bad no implementation of the " +
			"Gateway API says anything about it", nil},
		"not accepted": {nil, []gatewayv1.RouteParentStatus{
			said("example.com/gateway", condition("Accepted", "False", "NoMatchingParent", "no listener"))},
			"ok a TCPRoute; bad NoMatchingParent ListenerSet shop/broker, by example.com/gateway: no listener", nil},
		"no backend": {nil, []gatewayv1.RouteParentStatus{said("example.com/gateway",
			condition("Accepted", "True", "Accepted", "it waits"),
			condition("ResolvedRefs", "False", "BackendNotFound", "no Service"))},
			"ok a TCPRoute; ok ListenerSet shop/broker, by example.com/gateway: accepted; it waits; bad BackendNotFound no " +
				"Service", nil},
	} {
		t.Run(name, func(t *testing.T) {
			route := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broker-0",
				Annotations: c.annotations}}
			route.Status.Parents = c.parents
			route.Spec.ParentRefs = []gatewayv1.ParentReference{{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: "broker"}}
			sets := map[types.NamespacedName]*gatewayv1.ListenerSet{}
			if c.listener != nil {
				set := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broker"}}
				set.Status.Listeners = []gatewayv1.ListenerEntryStatus{{Name: "tcp", Conditions: c.listener}}
				sets[types.NamespacedName{Namespace: "shop", Name: "broker"}] = set
			}
			chain := chainOfRoute(language, read.TCPRoute, types.NamespacedName{Namespace: "shop", Name: "broker-0"}, route,
				sets)
			var words []string
			for _, link := range chain.Links {
				words = append(words, strings.Join(strings.Fields(link.State+" "+link.Reason+" "+link.Text), " "))
			}
			if got := strings.Join(words, "; "); got != c.want || chain.Whole == strings.Contains(c.want, "bad") {
				t.Errorf("whole %t:\n%s\nwant\n%s", chain.Whole, got, c.want)
			}
		})
	}
	if chain := chainOfRoute(language, read.TCPRoute, types.NamespacedName{Namespace: "shop", Name: "x"}, nil,
		nil); chain.Whole {
		t.Errorf("a route that doesn't exist: %+v", chain)
	}
}

// TestPortsOfAListenerSet has a ListenerSet of a user with two listeners. Another route's listener says nothing about
// this route.
func TestPortsOfAListenerSet(t *testing.T) {
	set := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broker"}}
	for name, status := range map[gatewayv1.SectionName]metav1.ConditionStatus{"open": metav1.ConditionTrue,
		"shut": metav1.ConditionFalse} {
		set.Spec.Listeners = append(set.Spec.Listeners, gatewayv1.ListenerEntry{Name: name,
			Port: map[gatewayv1.SectionName]gatewayv1.PortNumber{"open": 9000, "shut": 9001}[name]})
		set.Status.Listeners = append(set.Status.Listeners, gatewayv1.ListenerEntryStatus{Name: name,
			Conditions: []metav1.Condition{{Type: "Accepted", Status: status}, {Type: "Programmed", Status: status}}})
	}
	for name, c := range map[string]struct {
		section *gatewayv1.SectionName
		port    *gatewayv1.PortNumber
		want    []string
	}{
		"the open one":         {section: ptr.To(gatewayv1.SectionName("open")), want: []string{"ok"}},
		"the shut one":         {section: ptr.To(gatewayv1.SectionName("shut")), want: []string{"bad"}},
		"the shut one by port": {port: ptr.To(gatewayv1.PortNumber(9001)), want: []string{"bad"}},
		"both":                 {want: []string{"ok", "warn"}},
	} {
		var states []string
		for _, link := range portLinks(set, &gatewayv1.ParentReference{SectionName: c.section, Port: c.port}) {
			states = append(states, link.State)
		}
		if slices.Sort(states); !slices.Equal(states, c.want) {
			t.Errorf("%s: %v, want %v", name, states, c.want)
		}
	}
}
