package read

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// UnequalWeights is the reason for refusing a route whose backends have different weights.
const UnequalWeights = "UnequalWeights"

// attach finds the listeners of each route, and the route that each listener carries.
func (s *Served) attach() {
	slices.SortFunc(s.Routes, func(a, b Route) int {
		return cmp.Or(compareAge(a.Object, b.Object), cmp.Compare(a.Kind, b.Kind))
	})
	for i := range s.Routes {
		route := &s.Routes[i]
		counted := map[int]bool{}
		for j := range route.Spec.ParentRefs {
			ref := &route.Spec.ParentRefs[j]
			if !s.IsAbout(route, ref) {
				continue
			}
			a := Attachment{Route: route, Ref: ref}
			a.Listeners, a.Refused = s.listenersFor(route, ref)
			if !s.OnGateways {
				a.Refused = cmp.Or(a.Refused, route.unsupported())
			}
			_, a.Unresolved = s.BackendsOf(route)
			if a.Refused != nil {
				a.Listeners = nil
			}
			for _, at := range a.Listeners {
				l := &s.Listeners[at]
				if !counted[at] {
					counted[at] = true
					l.Attached++
				}
				if l.Carried == nil {
					l.Carried = route
				}
			}
			s.found.attachments[route.Object.GetUID()] = append(s.found.attachments[route.Object.GetUID()], len(s.Attachments))
			s.Attachments = append(s.Attachments, a)
		}
	}
	for i := range s.Listeners {
		if l := &s.Listeners[i]; l.Carried != nil && s.found.carried[l.Key] == nil {
			s.found.carried[l.Key] = l.Carried
		}
	}
}

// IsAbout is true for a parentRef to the Gateway, or to a ListenerSet that names it.
func (s *Served) IsAbout(route *Route, ref *gatewayv1.ParentReference) bool {
	kind, key := ParentOf(route, ref)
	_, names := s.found.sets[key]
	return kind == "Gateway" && key == keyOf(s.Gateway) || kind == "ListenerSet" && names
}

// ParentOf returns the kind and the name in a parentRef. The kind is empty if the parent isn't of the Gateway API.
func ParentOf(route *Route, ref *gatewayv1.ParentReference) (kind string, key types.NamespacedName) {
	if ref.Group != nil && *ref.Group != gatewayv1.GroupName {
		return "", key
	}
	return string(ptr.Deref(ref.Kind, "Gateway")),
		types.NamespacedName{Namespace: string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(route.Object.GetNamespace()))),
			Name: string(ref.Name)}
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// listenersFor returns the listeners that a parentRef selects and that let the route attach, or why there are none.
func (s *Served) listenersFor(route *Route, ref *gatewayv1.ParentReference) ([]int, *Refusal) {
	kind, key := ParentOf(route, ref)
	selected := s.Selected(route, ref)
	var allowed []int
	for _, i := range selected {
		if s.allows(&s.Listeners[i], route) {
			allowed = append(allowed, i)
		}
	}
	switch {
	case kind == "ListenerSet" && !s.found.sets[key]:
		return nil, &Refusal{string(gatewayv1.RouteReasonNoMatchingParent),
			fmt.Sprintf("Gateway %s doesn't admit ListenerSet %s", keyOf(s.Gateway), key)}
	case len(selected) == 0:
		return nil, &Refusal{string(gatewayv1.RouteReasonNoMatchingParent),
			fmt.Sprintf("%s %s has no listener%s: correct the parentRef", kind, key, sectionOf(ref))}
	case len(allowed) == 0:
		return nil, &Refusal{string(gatewayv1.RouteReasonNotAllowedByListeners),
			fmt.Sprintf("no listener%s of %s %s lets a %s of namespace %s attach: see its protocol and allowedRoutes",
				sectionOf(ref), kind, key, route.Kind,
				route.Object.GetNamespace())}
	}
	return allowed, nil
}

// sectionOf names the listeners that a parentRef selects.
func sectionOf(ref *gatewayv1.ParentReference) string {
	text := ""
	if ref.SectionName != nil {
		text += " " + string(*ref.SectionName)
	}
	if ref.Port != nil {
		text += fmt.Sprintf(" with port %d", *ref.Port)
	}
	return text
}

// allows is true if a listener lets routes of that kind and namespace attach.
func (s *Served) allows(l *Listener, route *Route) bool {
	if !slices.ContainsFunc(l.Kinds, func(k gatewayv1.RouteGroupKind) bool { return string(k.Kind) == route.Kind }) {
		return false
	}
	own := s.Gateway.Namespace
	if l.Set != nil {
		own = l.Set.Namespace
	}
	namespace := route.Object.GetNamespace()
	if l.AllowedRoutes == nil || l.AllowedRoutes.Namespaces == nil {
		return namespace == own
	}
	switch ptr.Deref(l.AllowedRoutes.Namespaces.From, gatewayv1.NamespacesFromSame) {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == own
	case gatewayv1.NamespacesFromSelector:
		selector, err := metav1.LabelSelectorAsSelector(l.AllowedRoutes.Namespaces.Selector)
		return err == nil && selector.Matches(s.Namespaces[namespace])
	}
	return false
}

// Backend is a port of a Service to which a route sends packets.
type Backend struct {
	Service types.NamespacedName
	// PortName is the name that the port has in the Service's EndpointSlices.
	PortName string
	// Weight is the backend's share among those of its route.
	Weight int32
}

// BackendsOf returns the backends of a route that can be used, and why some can't.
func (s *Served) BackendsOf(route *Route) (backends []Backend, unresolved *Refusal) {
	for i := range route.refs {
		backend, refused := s.backend(route, &route.refs[i])
		switch {
		case refused != nil:
			unresolved = cmp.Or(unresolved, refused)
		case backend.Weight > 0:
			backends = withBackend(backends, backend)
		}
	}
	return backends, unresolved
}

// withBackend adds a backend to a list. If the list has the backend already, the weights are added up.
func withBackend(all []Backend, one Backend) []Backend {
	for i := range all {
		if all[i].Service == one.Service && all[i].PortName == one.PortName {
			all[i].Weight += one.Weight
			return all
		}
	}
	return append(all, one)
}

func (s *Served) backend(route *Route, ref *gatewayv1.BackendRef) (Backend, *Refusal) {
	group, kind := ptr.Deref(ref.Group, ""), ptr.Deref(ref.Kind, "Service")
	if group != "" || kind != "Service" {
		return Backend{}, &Refusal{string(gatewayv1.RouteReasonInvalidKind),
			fmt.Sprintf("backend %s: kind %s isn't supported: use a Service", ref.Name, kind)}
	}
	key := types.NamespacedName{
		Namespace: string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(route.Object.GetNamespace()))), Name: string(ref.Name)}
	if key.Namespace != route.Object.GetNamespace() && !s.isGranted(route, key) {
		return Backend{}, &Refusal{string(gatewayv1.RouteReasonRefNotPermitted),
			fmt.Sprintf("backend %s: no ReferenceGrant in namespace %s lets a %s of namespace %s refer to it", key,
				key.Namespace, route.Kind, route.Object.GetNamespace())}
	}
	svc := s.Services[key]
	if svc == nil {
		return Backend{}, &Refusal{string(gatewayv1.RouteReasonBackendNotFound),
			fmt.Sprintf("backend %s: there is no such Service", key)}
	}
	if ref.Port == nil {
		return Backend{}, &Refusal{string(gatewayv1.RouteReasonUnsupportedValue),
			fmt.Sprintf("backend %s: its port is missing", key)}
	}
	for i := range svc.Spec.Ports {
		if p := &svc.Spec.Ports[i]; p.Port == *ref.Port && cmp.Or(p.Protocol, corev1.ProtocolTCP) == route.Protocol() {
			return Backend{Service: key, PortName: p.Name, Weight: ptr.Deref(ref.Weight, 1)}, nil
		}
	}
	return Backend{}, &Refusal{string(gatewayv1.RouteReasonBackendNotFound),
		fmt.Sprintf("backend %s: the Service has no port %d/%s", key, *ref.Port, route.Protocol())}
}

// isGranted is true if a ReferenceGrant lets a route refer to a Service of another namespace.
func (s *Served) isGranted(route *Route, to types.NamespacedName) bool {
	return slices.ContainsFunc(s.found.grants[to.Namespace], func(g *gatewayv1.ReferenceGrant) bool {
		return slices.ContainsFunc(g.Spec.From, func(f gatewayv1.ReferenceGrantFrom) bool {
			return f.Group == gatewayv1.GroupName && string(f.Kind) == route.Kind &&
				string(f.Namespace) == route.Object.GetNamespace()
		}) &&
			slices.ContainsFunc(g.Spec.To, func(t gatewayv1.ReferenceGrantTo) bool {
				return t.Group == "" && t.Kind == "Service" && (t.Name == nil || string(*t.Name) == to.Name)
			})
	})
}

// unsupported returns why a route can't be accepted on a mux that isn't on gateways; nil if it can. kube-proxy gives
// each pod the same share of the connections, so a Service's share depends on the number of its pods.
func (r *Route) unsupported() *Refusal {
	weight := int32(0)
	for i := range r.refs {
		switch w := ptr.Deref(r.refs[i].Weight, 1); {
		case w == 0:
		case weight == 0:
			weight = w
		case w != weight:
			return &Refusal{UnequalWeights, fmt.Sprintf("rules.backendRefs: weights %d and %d differ: only a pool of gateways "+
				"can weigh; elsewhere weights are equal, or 0", weight, w)}
		}
	}
	return nil
}

// Services returns the Services that a route's backends name.
func (r *Route) Services() (keys []types.NamespacedName) {
	for i := range r.refs {
		ref := &r.refs[i]
		if ptr.Deref(ref.Group, "") == "" && ptr.Deref(ref.Kind, "Service") == "Service" {
			keys = append(keys, types.NamespacedName{
				Namespace: string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(r.Object.GetNamespace()))), Name: string(ref.Name)})
		}
	}
	return keys
}

// Backends returns where the packets of a listener go: to the backends of the route that it carries.
func (s *Served) Backends(listener types.NamespacedName) []Backend {
	route := s.found.carried[listener]
	if route == nil {
		return nil
	}
	backends, _ := s.BackendsOf(route)
	return backends
}
