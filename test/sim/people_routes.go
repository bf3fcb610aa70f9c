package sim

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/test/sim/contract"
)

func (w *world) route() string {
	key := types.NamespacedName{Namespace: pick(w.Sim, "app", "other"), Name: pick(w.Sim, "r", "q")}
	spec := gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{w.parent()}}
	if second := w.parent(); w.chance(25) && fmt.Sprint(parentText(&second)) != parentText(&spec.ParentRefs[0]) {
		spec.ParentRefs = append(spec.ParentRefs, second)
	}
	backends := []gatewayv1.BackendRef{w.backend()}
	if w.chance(40) {
		backends = append(backends, w.backend())
	}
	return w.lead(key, w.chance(25), spec, backends)
}

// lead lets a route lead from its parents to its backends.
func (w *world) lead(key types.NamespacedName, isUDP bool, spec gatewayv1.CommonRouteSpec,
	backends []gatewayv1.BackendRef) string {
	text := fmt.Sprintf("Route %s", key)
	if isUDP {
		text = "UDP" + text
		route, is := own(w, key, &gatewayv1.UDPRoute{})
		if !is {
			return text + " is deleted"
		}
		route.Spec.CommonRouteSpec, route.Spec.Rules = spec, []gatewayv1.UDPRouteRule{{BackendRefs: backends}}
		return text + routeText(&spec, backends) + w.put(route, false)
	}
	text = "TCP" + text
	route, is := own(w, key, &gatewayv1.TCPRoute{})
	if !is {
		return text + " is deleted"
	}
	route.Spec.CommonRouteSpec, route.Spec.Rules = spec, []gatewayv1.TCPRouteRule{{BackendRefs: backends}}
	return text + routeText(&spec, backends) + w.put(route, false)
}

// fedRoute lets a route lead from an existing listener to a Service's port of the same protocol, and changes the
// backends of that Service.
func (w *world) fedRoute() string {
	listeners := w.promises.routing.listeners
	if len(listeners) == 0 {
		return w.gateway(gateways()[0])
	}
	listener := listeners[pick(w.Sim, sortedKeys(listeners)...)]
	key := types.NamespacedName{Namespace: pick(w.Sim, "app", "other"), Name: pick(w.Sim, "r", "q")}
	var fits []gatewayv1.BackendRef
	for _, name := range []string{"a", "b", "c"} {
		svc := w.service(types.NamespacedName{Namespace: key.Namespace, Name: name})
		if svc == nil {
			continue
		}
		for i := range svc.Spec.Ports {
			if svc.Spec.Ports[i].Protocol == listener.Protocol {
				fits = append(fits, backendRef(key.Namespace, name, svc.Spec.Ports[i].Port))
			}
		}
	}
	if len(fits) == 0 {
		return w.backends()
	}
	to := pick(w.Sim, fits...)
	text := w.lead(key, listener.Protocol == corev1.ProtocolUDP,
		gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{parentRef(listener)}},
		[]gatewayv1.BackendRef{to})
	return text + ", and " + w.backendsOf(types.NamespacedName{Namespace: key.Namespace, Name: string(to.Name)})
}

func parentRef(l *contract.Listener) gatewayv1.ParentReference {
	kind := gatewayv1.Kind("Gateway")
	if _, isSet := l.Owner.(*gatewayv1.ListenerSet); isSet {
		kind = "ListenerSet"
	}
	return gatewayv1.ParentReference{Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)), Kind: &kind,
		SectionName: &l.Name,
		Namespace:   ptr.To(gatewayv1.Namespace(l.Owner.GetNamespace())), Name: gatewayv1.ObjectName(l.Owner.GetName())}
}

func routeText(spec *gatewayv1.CommonRouteSpec, backends []gatewayv1.BackendRef) string {
	text := " leads from"
	for i := range spec.ParentRefs {
		text += " " + parentText(&spec.ParentRefs[i])
	}
	text += " to"
	for i := range backends {
		text += fmt.Sprintf(" %s/%s:%d", *backends[i].Namespace, backends[i].Name, *backends[i].Port)
	}
	return text
}

func parentText(ref *gatewayv1.ParentReference) string {
	return strings.TrimSuffix(fmt.Sprintf("%s/%s/%s/%s", strings.ToLower(string(*ref.Kind)), *ref.Namespace, ref.Name,
		ptr.Deref(ref.SectionName, "")), "/")
}

// parent returns a parentRef, with all defaults set.
func (w *world) parent() gatewayv1.ParentReference {
	ref := gatewayv1.ParentReference{Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)),
		Kind:      ptr.To(gatewayv1.Kind("Gateway")),
		Namespace: ptr.To(gatewayv1.Namespace(muxNamespace)), Name: gatewayv1.ObjectName(pick(w.Sim, gateways()...))}
	if w.chance(40) {
		ref.Kind = ptr.To(gatewayv1.Kind("ListenerSet"))
		ref.Namespace, ref.Name = ptr.To(gatewayv1.Namespace(pick(w.Sim, "app", "other"))), "s"
	}
	if w.chance(30) {
		ref.SectionName = ptr.To(pick(w.Sim, gatewayv1.SectionName("a"), "b"))
	}
	return ref
}

// backend returns a reference to a port of a Service that may exist, with all defaults set.
func (w *world) backend() gatewayv1.BackendRef {
	key := types.NamespacedName{Namespace: pick(w.Sim, "app", "other"), Name: pick(w.Sim, "a", "b", "c")}
	port := int32(100)
	if svc := w.service(key); svc != nil && w.chance(90) {
		port = pick(w.Sim, svc.Spec.Ports...).Port
	}
	return backendRef(key.Namespace, key.Name, port)
}

func backendRef(namespace, name string, port int32) gatewayv1.BackendRef {
	return gatewayv1.BackendRef{Weight: ptr.To[int32](1),
		BackendObjectReference: gatewayv1.BackendObjectReference{Group: ptr.To(gatewayv1.Group("")),
			Kind: ptr.To(gatewayv1.Kind("Service")), Name: gatewayv1.ObjectName(name),
			Namespace: ptr.To(gatewayv1.Namespace(namespace)), Port: &port}}
}

// grant lets the routes of one namespace refer to Services of the other.
func (w *world) grant() string {
	from := pick(w.Sim, "app", "other")
	key := types.NamespacedName{Namespace: map[string]string{"app": "other", "other": "app"}[from], Name: "g"}
	grant, is := own(w, key, &gatewayv1.ReferenceGrant{})
	if !is {
		return fmt.Sprintf("ReferenceGrant %s is deleted", key)
	}
	kind := pick(w.Sim, "TCPRoute", "TCPRoute", "UDPRoute")
	grant.Spec.From = []gatewayv1.ReferenceGrantFrom{{Group: gatewayv1.GroupName, Kind: gatewayv1.Kind(kind),
		Namespace: gatewayv1.Namespace(from)}}
	grant.Spec.To = []gatewayv1.ReferenceGrantTo{{Kind: "Service",
		Name: pick(w.Sim, nil, ptr.To(gatewayv1.ObjectName("a")))}}
	return fmt.Sprintf("ReferenceGrant %s is for each %s of %s%s", key, kind, from, w.put(grant, false))
}
