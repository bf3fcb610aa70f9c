package contract

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/validation"
)

var edge, edgeMux, routed = key("svc-mux", "edge"), key("svc-mux", "gateway-edge"), key("svc-mux", "edge-1")

func is(kind string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
}

// listening adds a Gateway to a world, with a listener whose route leads to channel app/web.
func listening(t *testing.T) *World {
	t.Helper()
	w := world(t)
	from := gatewayv1.NamespacesFromAll
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "edge", Generation: 1}}
	gateway.Spec.GatewayClassName = "mux"
	gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "a", Port: 443, Protocol: gatewayv1.TCPProtocolType,
		AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &from}}}}
	gateway.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &from}}
	gateway.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "a", AttachedRoutes: 1, Conditions: is("Programmed")}}
	parent := gatewayv1.ParentReference{Kind: ptr.To(gatewayv1.Kind("Gateway")),
		Namespace: ptr.To(gatewayv1.Namespace("svc-mux")), Name: "edge"}
	route := &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "r", Generation: 1}}
	route.Spec.ParentRefs = []gatewayv1.ParentReference{parent}
	route.Spec.Rules = []gatewayv1.TCPRouteRule{
		{BackendRefs: []gatewayv1.BackendRef{{BackendObjectReference: gatewayv1.BackendObjectReference{
			Name: "web", Namespace: ptr.To(gatewayv1.Namespace("app")), Port: ptr.To(gatewayv1.PortNumber(80))}}}}}
	route.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: parent,
		ControllerName: validation.DefaultPrefix + "/gateway",
		Conditions:     append(is("Accepted"), is("ResolvedRefs")...)}}
	class := &gatewayv1.GatewayClass{Spec: gatewayv1.GatewayClassSpec{ControllerName: validation.DefaultPrefix +
		"/gateway"}}
	w.Routing = Routing{Prefix: validation.DefaultPrefix,
		Classes:   map[types.NamespacedName]*gatewayv1.GatewayClass{key("", "mux"): class},
		Gateways:  map[types.NamespacedName]*gatewayv1.Gateway{edge: gateway},
		Sets:      map[types.NamespacedName]*gatewayv1.ListenerSet{},
		TCPRoutes: map[types.NamespacedName]*gatewayv1.TCPRoute{key("app", "r"): route}}

	mux := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "gateway-edge", UID: "edge-uid",
		Annotations: map[string]string{prefix + "multiplexer": "true", prefix + "generation": "1"}}}
	mux.Spec.Type = corev1.ServiceTypeLoadBalancer
	mux.Spec.Ports = []corev1.ServicePort{{Name: "d1c4c588e708c760f748", Port: 443, Protocol: corev1.ProtocolTCP}}
	mux.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.11"}}
	w.Services[edgeMux] = mux
	w.ConfigMaps[key("svc-mux", "gateway-edge-port-allocations")] = &corev1.ConfigMap{
		Data: map[string]string{"allocations.json": `{"generation":1,
		"portClaims":[{"namespace":"svc-mux","service":"gateway/edge/a","portName":"tcp","protocol":"TCP","channelPort":443,
		"muxPort":443,"name":"d1c4c588e708c760f748"}]}`}}
	carried := w.Slices[key("svc-mux", "mux-1")].DeepCopy()
	carried.Name, carried.OwnerReferences = "edge-1", []metav1.OwnerReference{{UID: "edge-uid"}}
	carried.Labels = map[string]string{discoveryv1.LabelServiceName: "gateway-edge",
		prefix + "channel-namespace": "svc-mux", prefix + "channel-name": "gateway_edge_a",
		prefix + "source": "app.web-1"}
	carried.Ports[0].Name = ptr.To("d1c4c588e708c760f748")
	w.Slices[routed] = carried
	return w
}

// TestEachBreachOfAListenerIsReported changes one thing in a world that fulfils the contract.
func TestEachBreachOfAListenerIsReported(t *testing.T) {
	if wrong := listening(t).AtRest(); wrong != "" {
		t.Fatalf("the unchanged world breaks the contract: %s", wrong)
	}
	status := func(w *World) *gatewayv1.ListenerStatus { return &w.Gateways[edge].Status.Listeners[0] }
	route := func(w *World) *gatewayv1.TCPRoute { return w.TCPRoutes[key("app", "r")] }
	for name, breach := range map[string]struct {
		told string
		make func(*World)
	}{
		"a listener lacks a free number": {"requests: svc-mux/gateway/edge/a", func(w *World) {
			w.Gateways[edge].Spec.Listeners[0].Port = 444
		}},
		"a listener is gone and has its number": {"ledger: svc-mux/gateway/edge/a", func(w *World) {
			w.Gateways[edge].Spec.Listeners = nil
		}},
		"the Gateway is another controller's": {"ledger: svc-mux/gateway/edge/a", func(w *World) {
			w.Classes[key("", "mux")].Spec.ControllerName = "example.com/other"
		}},
		"an older listener has the number": {"ledger: app/listenerset/s/a", func(w *World) {
			set := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "s"}}
			set.Spec.ParentRef = gatewayv1.ParentGatewayReference{Namespace: ptr.To(gatewayv1.Namespace("svc-mux")),
				Name: "edge"}
			set.Spec.Listeners = []gatewayv1.ListenerEntry{{Name: "a", Port: 443, Protocol: gatewayv1.TCPProtocolType}}
			w.Sets[key("app", "s")] = set
			data := w.ConfigMaps[key("svc-mux", "gateway-edge-port-allocations")].Data
			data["allocations.json"] = strings.NewReplacer(`"svc-mux"`, `"app"`, "gateway/edge/a",
				"listenerset/s/a").Replace(data["allocations.json"])
		}},
		"the mux lacks the listener's port": {"ports:", func(w *World) {
			w.Services[edgeMux].Spec.Ports[0].Port = 444
		}},
		"a listener with an address isn't programmed": {"statuses: Programmed", func(w *World) {
			status(w).Conditions[0].Status = metav1.ConditionFalse
		}},
		"a listener without an address is programmed": {"statuses: Programmed", func(w *World) {
			w.Services[edgeMux].Status.LoadBalancer.Ingress = nil
		}},
		"the status is of an older generation": {"statuses: nothing", func(w *World) {
			w.Gateways[edge].Generation = 2
		}},
		"a route isn't counted": {"statuses: listener", func(w *World) {
			status(w).AttachedRoutes = 0
		}},
		"a route isn't accepted": {"statuses: TCPRoute app/r: Accepted", func(w *World) {
			route(w).Status.Parents[0].Conditions[0].Status = metav1.ConditionFalse
		}},
		"nothing is said of a parent": {"statuses: TCPRoute app/r: nothing", func(w *World) {
			route(w).Status.Parents = nil
		}},
		"a backend isn't granted":         {"slices:", func(w *World) { route(w).Namespace = "other" }},
		"the listener's slice is missing": {"slices: nothing", func(w *World) { delete(w.Slices, routed) }},
		"the listener's slice has another port": {"slices:", func(w *World) {
			w.Slices[routed].Ports[0].Port = ptr.To(int32(9))
		}},
		"a slice carries what no route leads to": {"slices:", func(w *World) {
			w.Slices[routed].Labels[prefix+"source"] = "app.other-1"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := listening(t)
			breach.make(w)
			if wrong := w.AtRest(); !strings.HasPrefix(wrong, breach.told) {
				t.Errorf("the difference is %q, want %q", wrong, breach.told)
			}
		})
	}
}
