package read

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

const prefix = validation.DefaultPrefix + "/"

func language(t *testing.T) validation.Language {
	t.Helper()
	l, err := validation.New(validation.DefaultPrefix, "default")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func gateway(allowed *gatewayv1.AllowedListeners) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge", UID: "g",
			Annotations: map[string]string{prefix + "port-range": "20000-20009"}},
		Spec: gatewayv1.GatewaySpec{AllowedListeners: allowed, Listeners: []gatewayv1.Listener{
			{Name: "web", Port: 443, Protocol: gatewayv1.HTTPSProtocolType},
			{Name: "dns", Port: 53, Protocol: gatewayv1.UDPProtocolType},
		}},
	}
}

func TestNamespacesThatMayAttach(t *testing.T) {
	from := func(from gatewayv1.FromNamespaces, selector *metav1.LabelSelector) *gatewayv1.AllowedListeners {
		return &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &from, Selector: selector}}
	}
	yes := &metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}}
	members := map[string]labels.Set{"infra": nil, "shop": {"edge": "yes"}, "bank": {"edge": "no"}}
	for name, c := range map[string]struct {
		allowed *gatewayv1.AllowedListeners
		want    []string
	}{
		"by default none": {nil, nil},
		"no namespaces":   {&gatewayv1.AllowedListeners{}, nil},
		"none":            {from(gatewayv1.NamespacesFromNone, nil), nil},
		"all":             {from(gatewayv1.NamespacesFromAll, nil), []string{"bank", "infra", "shop"}},
		"its own":         {from(gatewayv1.NamespacesFromSame, nil), []string{"infra"}},
		"by label":        {from(gatewayv1.NamespacesFromSelector, yes), []string{"shop"}},
		"a selector that can't be read": {from(gatewayv1.NamespacesFromSelector,
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "edge", Operator: "Like"}}}), nil},
		"another word": {from("Everywhere", nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			mux := Mux(language(t), gateway(c.allowed), nil, members)
			var got []string
			for namespace := range members {
				if mux.Namespaces.Allows(namespace) {
					got = append(got, namespace)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAGatewayAsAMux has a number twice: the Gateway's own listener, and a ListenerSet of ours with the same one.
func TestAGatewayAsAMux(t *testing.T) {
	g := gateway(nil)
	g.Annotations[prefix+"generation"], g.Annotations[prefix+"allowed-namespaces"] = "7", "*"
	ours := []Listening{{"shop-broker-tcp", plan.Slot{Number: 443, Protocol: corev1.ProtocolTCP}}}
	mux := Mux(language(t), g, append(ours, ListenersOf(g)...), nil)
	if want := (types.NamespacedName{Namespace: "infra", Name: "gateway/edge"}); mux.Key != want {
		t.Errorf("it is %s", mux.Key)
	}
	if back, is := GatewayOf(mux.Key); !is || back != (types.NamespacedName{Namespace: "infra", Name: "edge"}) {
		t.Errorf("the mux %s is Gateway %s", mux.Key, back)
	}
	if _, is := GatewayOf(types.NamespacedName{Namespace: "infra", Name: "edge"}); is {
		t.Error("a Service is taken for a Gateway")
	}
	var ports []string
	for _, p := range mux.Ports {
		ports = append(ports, p.Name+" "+string(p.Protocol))
	}
	if diff := cmp.Diff([]string{"shop-broker-tcp TCP", "listener dns UDP"}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if mux.Generation != 7 || mux.Namespaces.Allows("infra") || len(mux.Problems) > 0 {
		t.Errorf("annotations of Services have a meaning on a Gateway: %+v", mux)
	}
	if mux.Ledger != "gateway-edge-route-allocations" {
		t.Errorf("its ledger is %s", mux.Ledger)
	}
	if !Asks(language(t), g) || Asks(language(t), &gatewayv1.Gateway{}) {
		t.Error("numbers are given on Gateways with a port-range")
	}
}

func route() *gatewayv1.TCPRoute {
	r := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broker.0", UID: "r",
		Annotations: map[string]string{
			prefix + "gateway": "infra/edge", prefix + "external-ports": "5432", prefix + "ports": "20003",
		}}}
	r.Spec.ParentRefs = []gatewayv1.ParentReference{
		{Name: "edge"},
		{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: "elsewhere", Namespace: ptr.To(gatewayv1.Namespace("bank"))},
		{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: "foreign", Group: ptr.To(gatewayv1.Group("example.com"))},
		{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: "broker"},
	}
	r.Spec.Rules = []gatewayv1.TCPRouteRule{{}, {BackendRefs: []gatewayv1.BackendRef{
		{BackendObjectReference: gatewayv1.BackendObjectReference{Name: "broker", Port: ptr.To(gatewayv1.PortNumber(9092))}},
	}}}
	return r
}

func TestARouteAsAChannel(t *testing.T) {
	r, is := RouteOf(route())
	if !is {
		t.Fatal("a TCPRoute is no route")
	}
	channel, asks := r.Channel(language(t))
	if len(channel.Problems) > 0 || asks.ListenerSet != "broker" {
		t.Errorf("it asks for %+v: %v", asks, channel.Problems)
	}
	if channel.Key.String() != "shop/tcproute/broker.0" || channel.Mux.String() != "infra/gateway/edge" ||
		channel.Recorded[0].Public != 20003 {
		t.Errorf("it is %+v", channel)
	}
	want := []validation.ChannelPort{{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: 9092,
		Request: validation.Request{Kind: validation.Number, Number: 5432}}}
	if diff := cmp.Diff(want, channel.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	kind, name, is := RouteNamed(channel.Key)
	if !is || kind != TCPRoute || name.Name != "broker.0" {
		t.Errorf("the channel %s is %s %s", channel.Key, kind, name)
	}
	if _, _, is := RouteNamed(types.NamespacedName{Namespace: "shop", Name: "broker"}); is {
		t.Error("a Service is taken for a route")
	}
	udp, _ := RouteOf(&gatewayv1.UDPRoute{})
	if channel, _ := udp.Channel(language(t)); channel.Ports[0].Protocol != corev1.ProtocolUDP ||
		channel.Ports[0].Port != 1 {
		t.Errorf("a UDPRoute without backends has %+v", channel.Ports)
	}
	if _, is := RouteOf(&corev1.Service{}); is {
		t.Error("a Service is a route")
	}
}

func TestAListenerSetOfOurs(t *testing.T) {
	l := language(t)
	keys := l.Keys()
	r, _ := RouteOf(route())
	claim := &plan.Claim{MuxName: "shop-broker-tcp", Public: 20003}
	want := ListenerSet(&keys, &r, "broker", types.NamespacedName{Namespace: "infra", Name: "edge"}, claim)
	if !IsMadeFor(&keys, want, &r) || !Same(&keys, want.DeepCopy(), want) {
		t.Error("it isn't known again")
	}
	if got := GatewayOfSet(want).String(); got != "infra/edge" {
		t.Errorf("it attaches to %s", got)
	}
	if on := SlotsOf(want); len(on) != 1 || on[0].Slot != (plan.Slot{Number: 20003, Protocol: corev1.ProtocolTCP}) {
		t.Errorf("it listens on %+v", on)
	}
	for name, edit := range map[string]func(*gatewayv1.ListenerSet){
		"another number":   func(s *gatewayv1.ListenerSet) { s.Spec.Listeners[0].Port = 22 },
		"another Gateway":  func(s *gatewayv1.ListenerSet) { s.Spec.ParentRef.Name = "other" },
		"without the mark": func(s *gatewayv1.ListenerSet) { delete(s.Labels, keys.Managed) },
		"another claim":    func(s *gatewayv1.ListenerSet) { s.Annotations[keys.PortName] = "other" },
		"an older route's": func(s *gatewayv1.ListenerSet) { s.OwnerReferences[0].UID = "old" },
		"no owner":         func(s *gatewayv1.ListenerSet) { s.OwnerReferences = nil },
	} {
		edited := want.DeepCopy()
		edit(edited)
		edited.ResourceVersion = "5"
		if edited.Labels == nil {
			edited.Labels = map[string]string{}
		}
		edited.Labels["team"] = "shop"
		if Same(&keys, edited, want) {
			t.Errorf("%s: it counts as right", name)
		}
		now := Corrected(edited, want)
		if !Same(&keys, now, want) || now.ResourceVersion != "5" || now.Labels["team"] != "shop" {
			t.Errorf("%s: it is corrected to %+v", name, now)
		}
	}
	theirs := want.DeepCopy()
	theirs.OwnerReferences[0].Kind = "Deployment"
	if IsMade(&keys, theirs) {
		t.Error("a ListenerSet of a Deployment is ours")
	}
	other := want.DeepCopy()
	other.Spec.ParentRef.Kind = ptr.To(gatewayv1.Kind("Service"))
	if got := GatewayOfSet(other); got.Name != "" {
		t.Errorf("a ListenerSet on a Service attaches to Gateway %s", got)
	}
}
