package read

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// at is the time at which an object was created.
func at(second int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, 1, 0, 0, second, 0, time.UTC))
}

// edge is a Gateway that admits ListenerSets of every namespace.
func edge(listeners ...gatewayv1.Listener) *Observed {
	return &Observed{
		Gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge", UID: "g"},
			Spec: gatewayv1.GatewaySpec{
				Listeners: listeners,
				AllowedListeners: &gatewayv1.AllowedListeners{
					Namespaces: &gatewayv1.ListenerNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}},
			}},
		Mux:        types.NamespacedName{Namespace: "infra", Name: "gateway-edge"},
		Namespaces: map[string]labels.Set{"infra": nil, "shop": {"edge": "yes"}, "bank": {"edge": "no"}},
		Services: map[types.NamespacedName]*corev1.Service{
			{Namespace: "shop", Name: "web"}: {Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80},
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}}},
			{Namespace: "bank", Name: "web"}: {Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		},
	}
}

func tcp(name string, port int32) gatewayv1.Listener {
	return gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: port, Protocol: gatewayv1.TCPProtocolType}
}

func set(second int, namespace, name string, listeners ...gatewayv1.Listener) *gatewayv1.ListenerSet {
	s := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name),
		CreationTimestamp: at(second)}}
	s.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: "edge", Namespace: ptr.To(gatewayv1.Namespace("infra"))}
	for _, l := range listeners {
		s.Spec.Listeners = append(s.Spec.Listeners,
			gatewayv1.ListenerEntry{Name: l.Name, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes})
	}
	return s
}

// told is what Judge says of each listener: its claimant, and why it isn't served.
func told(s *Served) (all []string) {
	for i := range s.Listeners {
		l := &s.Listeners[i]
		text := l.Key.String()
		for _, refusal := range []*Refusal{l.Unsupported, l.Conflict, l.Unresolved} {
			if refusal != nil {
				text += " " + refusal.Reason
			}
		}
		all = append(all, text)
	}
	return all
}

func TestListenersAreServedByPrecedence(t *testing.T) {
	udp := gatewayv1.Listener{Name: "udp", Port: 80, Protocol: gatewayv1.UDPProtocolType}
	http := gatewayv1.Listener{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}
	kinds := tcp("tcp", 80)
	kinds.AllowedRoutes = &gatewayv1.AllowedRoutes{Kinds: []gatewayv1.RouteGroupKind{{Kind: "HTTPRoute"}}}
	some := tcp("tcp", 80)
	some.AllowedRoutes = &gatewayv1.AllowedRoutes{Kinds: []gatewayv1.RouteGroupKind{{Kind: "HTTPRoute"},
		{Kind: "TCPRoute"}}}
	for name, c := range map[string]struct {
		own     []gatewayv1.Listener
		sets    []*gatewayv1.ListenerSet
		want    []string
		numbers int
	}{
		"one": {own: []gatewayv1.Listener{tcp("a", 80)}, want: []string{"infra/gateway/edge/a"},
			numbers: 1},
		"TCP and UDP share a number": {own: []gatewayv1.Listener{tcp("a", 80), udp},
			want: []string{"infra/gateway/edge/a", "infra/gateway/edge/udp"}, numbers: 2},
		"HTTP isn't supported": {own: []gatewayv1.Listener{http},
			want: []string{"infra/gateway/edge/http UnsupportedProtocol"}},
		"none wins within the Gateway": {own: []gatewayv1.Listener{tcp("a", 80), http}, want: []string{
			"infra/gateway/edge/a ProtocolConflict", "infra/gateway/edge/http UnsupportedProtocol ProtocolConflict"}},
		"kinds that it can't carry": {own: []gatewayv1.Listener{kinds},
			want: []string{"infra/gateway/edge/tcp InvalidRouteKinds"}},
		"one kind that it can't carry": {own: []gatewayv1.Listener{some},
			want: []string{"infra/gateway/edge/tcp InvalidRouteKinds"}, numbers: 1},
		"the Gateway comes first": {own: []gatewayv1.Listener{tcp("a", 80)},
			sets: []*gatewayv1.ListenerSet{set(1, "shop", "s", tcp("b", 80), tcp("c", 81))},
			want: []string{"infra/gateway/edge/a", "shop/listenerset/s/b ListenerConflict", "shop/listenerset/s/c"}, numbers: 2},
		"older sets come first": {sets: []*gatewayv1.ListenerSet{
			set(2, "bank", "b", tcp("x", 80)), set(1, "shop", "s", tcp("x", 80))},
			want: []string{"shop/listenerset/s/x", "bank/listenerset/b/x ListenerConflict"}, numbers: 1},
		"of one age, the name decides": {sets: []*gatewayv1.ListenerSet{
			set(1, "shop", "s", tcp("x", 80)), set(1, "bank", "b", tcp("x", 80))},
			want: []string{"bank/listenerset/b/x", "shop/listenerset/s/x ListenerConflict"}, numbers: 1},
		"another protocol on the number": {own: []gatewayv1.Listener{tcp("a", 80)},
			sets: []*gatewayv1.ListenerSet{set(1, "shop", "s", http)},
			want: []string{"infra/gateway/edge/a", "shop/listenerset/s/http UnsupportedProtocol ProtocolConflict"}, numbers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := edge(c.own...)
			o.Sets = c.sets
			s := Judge(o)
			if diff := cmp.Diff(c.want, told(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := len(s.Claimants()); got != c.numbers {
				t.Errorf("%d listeners ask for their number, want %d", got, c.numbers)
			}
		})
	}
}

func TestConflictNamesTheListenerThatComesFirst(t *testing.T) {
	for name, c := range map[string]struct {
		own       []gatewayv1.Listener
		namespace string // of the older ListenerSet
		want      string
	}{
		"of the Gateway": {[]gatewayv1.Listener{tcp("a", 80)}, "bank",
			"port 80/TCP belongs to listener a of the Gateway, which comes first: choose another number"},
		"of the same namespace": {nil, "shop", "port 80/TCP belongs to listener x of ListenerSet shop/b, which comes " +
			"first: choose another number"},
		"never of another tenant": {nil, "bank",
			"port 80/TCP belongs to a listener of another namespace, which comes first: choose another number"},
	} {
		t.Run(name, func(t *testing.T) {
			o := edge(c.own...)
			o.Sets = []*gatewayv1.ListenerSet{set(1, c.namespace, "b", tcp("x", 80)), set(2, "shop", "s", tcp("x", 80))}
			listeners := Judge(o).Listeners
			if got := listeners[len(listeners)-1].Conflict; got == nil || got.Message != c.want {
				t.Errorf("the message is %+v, want %s", got, c.want)
			}
		})
	}
}

func TestSetsThatAreNotAdmittedHaveNoListeners(t *testing.T) {
	o := edge()
	o.Gateway.Spec.AllowedListeners.Namespaces = &gatewayv1.ListenerNamespaces{
		From:     ptr.To(gatewayv1.NamespacesFromSelector),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}}}
	o.Sets = []*gatewayv1.ListenerSet{set(1, "bank", "b", tcp("x", 80)), set(2, "shop", "s", tcp("x", 80))}
	s := Judge(o)
	if diff := cmp.Diff([]string{"shop/listenerset/s/x"}, told(s)); diff != "" || len(s.NotAdmitted) != 1 {
		t.Errorf("not admitted: %v (-want +got):\n%s", s.NotAdmitted, diff)
	}
}

func tcpRoute(second int, namespace, name string, parent gatewayv1.ParentReference,
	backends ...gatewayv1.BackendRef) Route {
	r := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name),
		CreationTimestamp: at(second)}}
	r.Spec.ParentRefs = []gatewayv1.ParentReference{parent}
	r.Spec.Rules = []gatewayv1.TCPRouteRule{{BackendRefs: backends}}
	route, _ := RouteOf(r)
	return route
}

func parent(namespace, kind, name, section string) gatewayv1.ParentReference {
	ref := gatewayv1.ParentReference{Kind: ptr.To(gatewayv1.Kind(kind)), Name: gatewayv1.ObjectName(name),
		Namespace: ptr.To(gatewayv1.Namespace(namespace))}
	if section != "" {
		ref.SectionName = ptr.To(gatewayv1.SectionName(section))
	}
	return ref
}

func ref(namespace, name string, port int32, weight ...int32) gatewayv1.BackendRef {
	r := gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(name),
		Port: ptr.To(port)}}
	if namespace != "" {
		r.Namespace = ptr.To(gatewayv1.Namespace(namespace))
	}
	if len(weight) > 0 {
		r.Weight = &weight[0]
	}
	return r
}

func TestRoutesAttachWhereListenersLetThem(t *testing.T) {
	all := tcp("all", 81)
	all.AllowedRoutes = &gatewayv1.AllowedRoutes{
		Namespaces: &gatewayv1.RouteNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}}
	labelled := tcp("labelled", 82)
	labelled.AllowedRoutes = &gatewayv1.AllowedRoutes{
		Namespaces: &gatewayv1.RouteNamespaces{From: ptr.To(gatewayv1.NamespacesFromSelector),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}}}}
	udp := gatewayv1.Listener{Name: "udp", Port: 53, Protocol: gatewayv1.UDPProtocolType, AllowedRoutes: all.AllowedRoutes}
	granted := &gatewayv1.ReferenceGrant{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "g"},
		Spec: gatewayv1.ReferenceGrantSpec{
			From: []gatewayv1.ReferenceGrantFrom{{Group: gatewayv1.GroupName, Kind: TCPRoute, Namespace: "shop"}},
			To:   []gatewayv1.ReferenceGrantTo{{Kind: "Service"}}}}
	byPort := parent("infra", "Gateway", "edge", "")
	byPort.Port = ptr.To(gatewayv1.PortNumber(82))
	for name, c := range map[string]struct {
		route Route
		grant *gatewayv1.ReferenceGrant
		want  string
	}{
		"all listeners that let it": {tcpRoute(1, "shop", "r", parent("infra", "Gateway", "edge", ""), ref("", "web", 80)),
			nil, "all labelled: shop/web http"},
		"by its section": {tcpRoute(1, "shop", "r", parent("infra", "Gateway", "edge", "all"), ref("", "web", 80)),
			nil, "all: shop/web http"},
		"by its port": {tcpRoute(1, "shop", "r", byPort, ref("", "web", 80)), nil, "labelled: shop/web " +
			"http"},
		"a namespace without label": {tcpRoute(1, "bank", "r", parent("infra", "Gateway", "edge", "labelled"),
			ref("", "web", 80)), nil, "NotAllowedByListeners: bank/web "},
		"its own namespace only": {tcpRoute(1, "shop", "r", parent("infra", "Gateway", "edge", "own"), ref("", "web", 80)),
			nil, "NotAllowedByListeners: shop/web http"},
		"a listener that isn't there": {tcpRoute(1, "shop", "r", parent("infra", "Gateway", "edge", "nothing"),
			ref("", "web", 80)), nil, "NoMatchingParent: shop/web http"},
		"a listener of UDP": {tcpRoute(1, "shop", "r", parent("infra", "Gateway", "edge", "udp"), ref("", "web", 80)), nil,
			"NotAllowedByListeners: shop/web http"},
		"a ListenerSet": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""), ref("", "web", 80)),
			nil, "x: shop/web http"},
		"no backend": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""), ref("", "nothing", 80)), nil,
			"x: BackendNotFound"},
		"no such port": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""), ref("", "web", 8080)), nil,
			"x: BackendNotFound"},
		"a port of UDP": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""), ref("", "web", 53)),
			nil, "x: BackendNotFound"},
		"without a grant": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""), ref("bank", "web", 80)), nil,
			"x: RefNotPermitted"},
		"with a grant": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""), ref("bank", "web", 80)), granted,
			"x: bank/web "},
		"weights": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""),
			ref("", "web", 80, 1), ref("bank", "web", 80, 2)), granted, "UnequalWeights: shop/web http bank/web "},
		"a weight of 0": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""),
			ref("", "web", 80, 0), ref("bank", "web", 80, 2)), granted, "x: bank/web "},
		"one of two backends is there": {tcpRoute(1, "shop", "r", parent("shop", "ListenerSet", "s", ""),
			ref("", "nothing", 80), ref("", "web", 80)), nil, "x: shop/web http BackendNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			o := edge(tcp("own", 80), all, labelled, udp)
			o.Sets = []*gatewayv1.ListenerSet{set(1, "shop", "s", tcp("x", 90))}
			o.Routes = []Route{c.route}
			if c.grant != nil {
				o.Grants = append(o.Grants, c.grant)
			}
			s := Judge(o)
			a := s.Attachments[0]
			var words []string
			for _, i := range a.Listeners {
				words = append(words, string(s.Listeners[i].Name))
				if l := &s.Listeners[i]; l.Attached != 1 || l.Carried == nil {
					t.Errorf("listener %s: %d routes", l.Name, l.Attached)
				}
			}
			if a.Refused != nil {
				words = append(words, a.Refused.Reason)
			}
			got := strings.Join(words, " ") + ":"
			backends, _ := s.BackendsOf(a.Route)
			for _, b := range backends {
				got += fmt.Sprintf(" %s %s", b.Service, b.PortName)
			}
			if a.Unresolved != nil {
				got += " " + a.Unresolved.Reason
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestGatewaysWeighBackends(t *testing.T) {
	o := edge(tcp("own", 80))
	o.OnGateways = true
	o.Services[types.NamespacedName{Namespace: "infra", Name: "a"}] = o.Services[types.NamespacedName{Namespace: "bank",
		Name: "web"}]
	o.Services[types.NamespacedName{Namespace: "infra", Name: "b"}] = o.Services[types.NamespacedName{Namespace: "bank",
		Name: "web"}]
	o.Routes = []Route{tcpRoute(1, "infra", "r", parent("infra", "Gateway", "edge", "own"), ref("", "a", 80, 1),
		ref("", "b", 80, 3), ref("", "a", 80, 4))}
	s := Judge(o)
	if refused := s.Attachments[0].Refused; refused != nil {
		t.Errorf("it is refused: %s", refused.Message)
	}
	want := []Backend{{types.NamespacedName{Namespace: "infra", Name: "a"}, "", 5},
		{types.NamespacedName{Namespace: "infra", Name: "b"}, "", 3}}
	if diff := cmp.Diff(want, s.Backends(s.Listeners[0].Key)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheOldestRouteOfAListenerIsCarried(t *testing.T) {
	o := edge(tcp("own", 80))
	at80 := parent("infra", "Gateway", "edge", "own")
	o.Routes = []Route{tcpRoute(2, "infra", "younger", at80), tcpRoute(1, "infra", "older", at80),
		tcpRoute(0, "infra", "refused", at80, ref("", "a", 1, 1), ref("", "b", 1, 2))}
	s := Judge(o)
	if l := &s.Listeners[0]; l.Attached != 2 || l.Carried.Object.GetName() != "older" {
		t.Errorf("%d routes, and it carries %s", l.Attached, l.Carried.Object.GetName())
	}
}

func TestNamesOfListenersFitLabels(t *testing.T) {
	long := strings.Repeat("a", 60)
	s := Judge(func() *Observed {
		o := edge(tcp("own", 80))
		o.Sets = []*gatewayv1.ListenerSet{set(1, "shop", long, tcp("x", 90)), set(1, "shop", long+"b", tcp("x", 91)),
			set(1, "shop", long+"b", tcp("y", 92))}
		return o
	}())
	seen := map[string]bool{}
	for i := range s.Listeners {
		name := s.Listeners[i].Key.Name
		if len(name) > 63 || seen[name] || !strings.Contains(name, "/") {
			t.Errorf("a listener is %s", name)
		}
		seen[name] = true
	}
}

func TestTheMuxOfAGateway(t *testing.T) {
	l := language(t)
	keys := l.Keys()
	g := edge().Gateway
	g.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{
		Labels:      map[gatewayv1.LabelKey]gatewayv1.LabelValue{"team": "infra"},
		Annotations: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{"cloud": "b"}}
	g.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Value: "192.0.2.10"}}
	template := Template{Annotations: map[string]string{"cloud": "a", "other": "c"},
		Spec: corev1.ServiceSpec{LoadBalancerClass: ptr.To("gateway.svc-mux.nowake.ai/rack")}}
	svc, refused := MuxService(l, g, &template)
	if refused != nil || !IsMuxOf(&keys, svc, g) || svc.Name != "gateway-edge" || svc.Labels["team"] != "infra" ||
		svc.Annotations["cloud"] != "b" ||
		svc.Annotations["other"] != "c" || svc.Annotations[keys.Address] != "192.0.2.10" ||
		svc.Annotations[keys.AllowedNamespaces] != "*" {
		t.Errorf("%v: %+v", refused, svc)
	}
	if mux, found := l.ParseMux(svc); len(found.Problems) > 0 || !mux.Namespaces.Allows("shop") {
		t.Errorf("as a mux it is wrong: %v", found.Problems)
	}
	g.Spec.AllowedListeners = nil
	if svc, _ := MuxService(l, g, &template); svc.Annotations[keys.AllowedNamespaces] != "Same" {
		t.Errorf("Services of %s may attach", svc.Annotations[keys.AllowedNamespaces])
	}
	for name, spoil := range map[string]func(){
		"two addresses": func() { g.Spec.Addresses = append(g.Spec.Addresses, g.Spec.Addresses[0]) },
		"a name": func() {
			g.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Type: ptr.To(gatewayv1.HostnameAddressType), Value: "a.example"}}
		},
		"its own parameters": func() { g.Spec.Infrastructure.ParametersRef = &gatewayv1.LocalParametersReference{} },
	} {
		if spoil(); true {
			if _, refused := MuxService(l, g, &template); refused == nil {
				t.Errorf("%s: it isn't refused", name)
			}
		}
	}
	for gateway, want := range map[string]string{"edge": "gateway-edge", "a.b": "gateway-a-b-",
		strings.Repeat("x", 100): "gateway-xxx"} {
		name := MuxOf(types.NamespacedName{Name: gateway}).Name
		if !strings.HasPrefix(name, want) || len(name) > 63 {
			t.Errorf("the mux of %s is %s", gateway, name)
		}
	}
}
