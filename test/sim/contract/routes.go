package contract

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// route is a TCPRoute or a UDPRoute.
type route struct {
	kind     string
	object   client.Object
	parents  []gatewayv1.ParentReference
	backends []gatewayv1.BackendRef
	status   *gatewayv1.RouteStatus
}

// routes returns all routes, the oldest first.
func (r *Routing) routes() (all []route) {
	for _, o := range r.TCPRoutes {
		all = append(all, route{"TCPRoute", o, o.Spec.ParentRefs, o.Spec.Rules[0].BackendRefs, &o.Status.RouteStatus})
	}
	for _, o := range r.UDPRoutes {
		all = append(all, route{"UDPRoute", o, o.Spec.ParentRefs, o.Spec.Rules[0].BackendRefs, &o.Status.RouteStatus})
	}
	slices.SortFunc(all, func(a, b route) int {
		return cmp.Or(older(a.object, b.object), strings.Compare(a.kind, b.kind))
	})
	return all
}

// attaches returns whether a parentRef attaches its route to a listener.
func (l *Listener) attaches(of *route, ref *gatewayv1.ParentReference) bool {
	carries := map[gatewayv1.ProtocolType]string{gatewayv1.TCPProtocolType: "TCPRoute",
		gatewayv1.UDPProtocolType: "UDPRoute"}[l.ListenerEntry.Protocol]
	named := types.NamespacedName{Namespace: string(*ref.Namespace),
		Name: strings.ToLower(string(*ref.Kind)) + "/" + string(ref.Name) + "/" + string(l.Name)}
	return named == l.Key && carries == of.kind && (ref.SectionName == nil || *ref.SectionName == l.Name) &&
		isFrom(*l.AllowedRoutes.Namespaces.From, l.Key.Namespace, of.object.GetNamespace())
}

// attached returns the routes of a listener, the oldest first.
func (r *Routing) attached(l *Listener) (all []route) {
	for _, of := range r.routes() {
		if slices.ContainsFunc(of.parents, func(ref gatewayv1.ParentReference) bool { return l.attaches(&of, &ref) }) {
			all = append(all, of)
		}
	}
	return all
}

// portOf returns the Service and the name of the port to which a backend refers; false if there is no such port, or a
// ReferenceGrant is missing.
func (w *World) portOf(of *route, ref *gatewayv1.BackendRef) (types.NamespacedName, string, bool) {
	key := types.NamespacedName{Namespace: string(*ref.Namespace), Name: string(ref.Name)}
	svc := w.Services[key]
	if svc == nil || key.Namespace != of.object.GetNamespace() && !w.grants(of, key) {
		return key, "", false
	}
	for _, port := range svc.Spec.Ports {
		if port.Port == *ref.Port && (port.Protocol == corev1.ProtocolUDP) == (of.kind == "UDPRoute") {
			return key, port.Name, true
		}
	}
	return key, "", false
}

func (w *World) grants(of *route, to types.NamespacedName) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(w.Grants)), func(g *gatewayv1.ReferenceGrant) bool {
		from, target := g.Spec.From[0], g.Spec.To[0]
		return g.Namespace == to.Namespace && string(from.Kind) == of.kind &&
			string(from.Namespace) == of.object.GetNamespace() &&
			(target.Name == nil || string(*target.Name) == to.Name)
	})
}

// backend is a port of a Service to which a listener sends packets.
type backend struct {
	service types.NamespacedName
	port    string
}

// backends returns where a listener's packets go: to the backends of its oldest route.
func (w *World) backends(l *Listener) (all []backend) {
	routes := w.attached(l)
	if len(routes) == 0 {
		return nil
	}
	for i := range routes[0].backends {
		service, port, is := w.portOf(&routes[0], &routes[0].backends[i])
		if b := (backend{service, port}); is && ptr.Deref(routes[0].backends[i].Weight, 1) > 0 && !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	return all
}
