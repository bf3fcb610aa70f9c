package line

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

func jsonOf(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// deed lets people do something.
func (h *history) deed() {
	switch pick(h, "deed", "gateway", "gateway", "set", "set", "set", "route", "route", "route", "route", "service",
		"service", "grant", "grant", "namespace", "foreign", "number", "address", "address", "restart", "release") {
	case "gateway":
		h.gateway()
	case "set":
		h.listenerSet()
	case "route":
		h.route()
	case "service":
		h.service()
	case "grant":
		h.grant()
	case "namespace":
		namespace := gatewaytest.Get[*corev1.Namespace](h.api.Shelf, "", pick(h, "namespace", namespaces()...)).DeepCopy()
		namespace.Labels = pick(h, "labels", nil, map[string]string{"edge": "yes"}, map[string]string{"edge": "no"})
		h.put(namespace)
	case "foreign":
		h.foreignStatus()
	case "number":
		port := pick(h, "number", int32(80), 81, 82)
		h.taken[port] = !h.taken[port]
		h.note("a channel has number %d: %t", port, h.taken[port])
		for _, svc := range gatewaytest.Of[*corev1.Service](h.api.Shelf) {
			h.todo["mux"][client.ObjectKeyFromObject(svc)] = true
		}
	case "address":
		h.address()
	case "restart":
		if h.chance("serves more", 30) && len(h.served) == 1 {
			h.served = append(h.served, "shop")
		}
		h.restart()
	case "release":
		h.otherRelease()
	}
}

// created returns an object for people to change: a copy of the existing one, or a new one. It returns false if people
// delete the object instead.
func created[T client.Object](h *history, namespace, name string, empty T) (T, bool) {
	var none T
	if is := gatewaytest.Get[T](h.api.Shelf, namespace, name); any(is) != any(none) {
		if h.chance("delete", 20) {
			h.drop(is)
			return none, false
		}
		return is.DeepCopyObject().(T), true
	}
	empty.SetNamespace(namespace)
	empty.SetName(name)
	return empty, true
}

// gateways returns names of Gateways. The last one's mux would have the same name as the mux of e.d.
func gateways() []string {
	return []string{"edge", "edge", "edge", "two", "e.d",
		strings.TrimPrefix(read.MuxOf(types.NamespacedName{Name: "e.d"}).Name, "gateway-")}
}

func (h *history) gatewayName() gatewayv1.ObjectName {
	return gatewayv1.ObjectName(pick(h, "gateway", gateways()...))
}

func (h *history) gateway() {
	gateway, is := created(h, pick(h, "namespace of Gateway", "infra", "infra", "infra", "shop"),
		pick(h, "gateway", gateways()...), &gatewayv1.Gateway{})
	if !is {
		return
	}
	switch {
	case gateway.Spec.GatewayClassName == "" || h.chance("class", 15):
		gateway.Spec.GatewayClassName = pick(h, "class name", gatewayv1.ObjectName("mux"), "mux", "pool", "other", "nothing")
	case h.chance("allowed listeners", 40):
		from, selector := h.from()
		gateway.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: from,
			Selector: selector}}
		if h.chance("none", 20) {
			gateway.Spec.AllowedListeners = nil
		}
	default:
		gateway.Spec.Listeners = nil
		for _, l := range h.listeners() {
			gateway.Spec.Listeners = append(gateway.Spec.Listeners,
				gatewayv1.Listener{Name: l.Name, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes})
		}
	}
	h.put(gateway)
}

func (h *history) from() (*gatewayv1.FromNamespaces, *metav1.LabelSelector) {
	from := pick(h, "from", gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromSame,
		gatewayv1.NamespacesFromSelector)
	if from == gatewayv1.NamespacesFromSelector {
		return &from, &metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}}
	}
	return &from, nil
}

func (h *history) listeners() (all []gatewayv1.ListenerEntry) {
	for _, name := range []gatewayv1.SectionName{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(h.r, "listeners")] {
		l := gatewayv1.ListenerEntry{Name: name, Port: pick(h, "port", gatewayv1.PortNumber(80), 81, 82, 83),
			Protocol: pick(h, "protocol", gatewayv1.TCPProtocolType, gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType,
				gatewayv1.HTTPProtocolType)}
		if h.chance("allowed routes", 60) {
			l.AllowedRoutes = &gatewayv1.AllowedRoutes{}
			if h.chance("of namespaces", 80) {
				from, selector := h.from()
				l.AllowedRoutes.Namespaces = &gatewayv1.RouteNamespaces{From: from, Selector: selector}
			}
			for _, kind := range pick(h, "kinds", nil, nil, []string{read.TCPRoute}, []string{read.UDPRoute, "HTTPRoute"}) {
				l.AllowedRoutes.Kinds = append(l.AllowedRoutes.Kinds, gatewayv1.RouteGroupKind{Kind: gatewayv1.Kind(kind)})
			}
		}
		all = append(all, l)
	}
	return all
}

func (h *history) listenerSet() {
	set, is := created(h, pick(h, "namespace", namespaces()...), pick(h, "set", "s", "t"), &gatewayv1.ListenerSet{})
	if !is {
		return
	}
	set.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: h.gatewayName(),
		Namespace: ptr.To(gatewayv1.Namespace("infra"))}
	set.Spec.Listeners = h.listeners()
	h.put(set)
}

func (h *history) route() {
	namespace, name := pick(h, "namespace", namespaces()...), pick(h, "route", "r", "q")
	spec := gatewayv1.CommonRouteSpec{}
	seen := map[string]bool{}
	for range rapid.IntRange(1, 2).Draw(h.r, "parents") {
		ref := gatewayv1.ParentReference{Name: h.gatewayName(), Namespace: ptr.To(gatewayv1.Namespace("infra"))}
		if h.chance("of a set", 50) {
			ref = gatewayv1.ParentReference{Kind: ptr.To(gatewayv1.Kind("ListenerSet")),
				Name: pick(h, "set", gatewayv1.ObjectName("s"), "t")}
			if h.chance("elsewhere", 40) {
				ref.Namespace = ptr.To(gatewayv1.Namespace(pick(h, "set's namespace", namespaces()...)))
			}
		}
		if h.chance("section", 40) {
			ref.SectionName = ptr.To(pick(h, "section name", gatewayv1.SectionName("a"), "b"))
		} else if h.chance("port", 20) {
			ref.Port = ptr.To(pick(h, "port", gatewayv1.PortNumber(80), 81))
		}
		text, _ := jsonOf(ref)
		if !seen[text] {
			seen[text] = true
			spec.ParentRefs = append(spec.ParentRefs, ref)
		}
	}
	var backends []gatewayv1.BackendRef
	for range rapid.IntRange(0, 2).Draw(h.r, "backends") {
		b := gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{
			Name: pick(h, "service", gatewayv1.ObjectName("web"), "web", "db"),
			Port: ptr.To(pick(h, "backend port", gatewayv1.PortNumber(80), 80, 53))}}
		if h.chance("cross", 50) {
			b.Namespace = ptr.To(gatewayv1.Namespace(pick(h, "backend's namespace", namespaces()...)))
		}
		if h.chance("kind", 5) {
			b.Kind = ptr.To(gatewayv1.Kind("Bucket"))
		}
		if h.chance("weight", 30) {
			b.Weight = ptr.To(pick(h, "is", int32(0), 1, 1, 2))
		}
		backends = append(backends, b)
	}
	if h.chance("udp", 25) {
		if route, is := created(h, namespace, name, &gatewayv1.UDPRoute{}); is {
			route.Spec.CommonRouteSpec, route.Spec.Rules = spec, []gatewayv1.UDPRouteRule{{BackendRefs: backends}}
			h.put(route)
		}
		return
	}
	if route, is := created(h, namespace, name, &gatewayv1.TCPRoute{}); is {
		route.Spec.CommonRouteSpec, route.Spec.Rules = spec, []gatewayv1.TCPRouteRule{{BackendRefs: backends}}
		h.put(route)
	}
}

func (h *history) service() {
	svc, is := created(h, pick(h, "namespace", namespaces()...), pick(h, "service", "web", "db"), &corev1.Service{})
	if !is {
		return
	}
	svc.Spec.Ports = pick(h, "ports", []corev1.ServicePort{{Name: "http", Port: 80}},
		[]corev1.ServicePort{{Name: "http", Port: 80}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
		[]corev1.ServicePort{{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "dns-tcp", Port: 53}})
	h.put(svc)
}

func (h *history) grant() {
	grant, is := created(h, pick(h, "namespace", namespaces()...), pick(h, "grant", "g", "f"), &gatewayv1.ReferenceGrant{})
	if !is {
		return
	}
	grant.Spec.From = []gatewayv1.ReferenceGrantFrom{{Group: gatewayv1.GroupName,
		Kind:      pick(h, "kind", gatewayv1.Kind(read.TCPRoute), read.TCPRoute, read.UDPRoute),
		Namespace: gatewayv1.Namespace(pick(h, "of", namespaces()...))}}
	grant.Spec.To = []gatewayv1.ReferenceGrantTo{{Kind: "Service",
		Name: pick(h, "to", nil, ptr.To(gatewayv1.ObjectName("web")))}}
	h.put(grant)
}

// foreignStatus writes into a route's status as another controller does.
func (h *history) foreignStatus() {
	for _, route := range allRoutes(h.api.Shelf) {
		now := route.object.DeepCopyObject().(client.Object)
		copied, _ := read.RouteOf(now)
		copied.Status.Parents = append(copied.Status.Parents,
			gatewayv1.RouteParentStatus{ParentRef: route.refs[0], ControllerName: foreign2,
				Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionFalse, Reason: "No"}}})
		h.note("another controller writes the status of %s %s", route.kind, now.GetName())
		h.api.Put(now, false)
		return
	}
}

// otherRelease serves the namespace shop until the process does, and writes a Gateway's status.
func (h *history) otherRelease() {
	for _, gateway := range gatewaytest.Of[*gatewayv1.Gateway](h.api.Shelf) {
		if !slices.Contains(h.served, gateway.Namespace) {
			now := gateway.DeepCopy()
			now.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}}
			h.note("another release writes the status of Gateway %s/%s", now.Namespace, now.Name)
			h.api.Put(now, false)
		}
	}
}

// address gives a mux an address or takes it away, as a provider does, or changes the mux's type.
func (h *history) address() {
	key := types.NamespacedName{Namespace: "infra", Name: pick(h, "mux", "gateway-edge", "gateway-edge", "gateway-two")}
	svc := gatewaytest.Get[*corev1.Service](h.api.Shelf, key.Namespace, key.Name)
	if svc == nil {
		return
	}
	svc = svc.DeepCopy()
	if len(svc.Status.LoadBalancer.Ingress) > 0 && h.chance("type", 40) ||
		svc.Spec.Type != corev1.ServiceTypeLoadBalancer && h.chance("type again", 60) {
		svc.Spec.Type, svc.Status.LoadBalancer.Ingress = pick(h, "type", corev1.ServiceTypeClusterIP,
			corev1.ServiceTypeLoadBalancer), nil
		h.put(svc)
		h.note("its type is %s", svc.Spec.Type)
		return
	}
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	svc.Status.LoadBalancer.Ingress = pick(h, "address", nil, []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}},
		[]corev1.LoadBalancerIngress{{IP: "203.0.113.10"}})
	h.note("the provider gives %s the addresses %v", key.Name, svc.Status.LoadBalancer.Ingress)
	h.api.Put(svc, false)
}
