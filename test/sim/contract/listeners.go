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

	"nowake.ai/svc-lb-mux/validation"
)

// Routing has the objects of the Gateway API. All defaults are set in them. They allow routes and ListenerSets by namespace, without selectors
// and kinds.
type Routing struct {
	// Prefix is that of our names.
	Prefix    string
	Classes   map[types.NamespacedName]*gatewayv1.GatewayClass
	Gateways  map[types.NamespacedName]*gatewayv1.Gateway
	Sets      map[types.NamespacedName]*gatewayv1.ListenerSet
	TCPRoutes map[types.NamespacedName]*gatewayv1.TCPRoute
	UDPRoutes map[types.NamespacedName]*gatewayv1.UDPRoute
	Grants    map[types.NamespacedName]*gatewayv1.ReferenceGrant
}

// Listener is a listener of a Gateway of ours, or of a ListenerSet that the Gateway admits.
type Listener struct {
	// Key names the listener in the ledger, and Mux the Gateway's mux.
	Key, Mux types.NamespacedName
	Protocol corev1.Protocol
	// Asks is true for a listener that may have its number: we carry its protocol, and no listener that comes first has the number.
	Asks bool
	// Owner is the Gateway or the ListenerSet, as it is now.
	Owner client.Object

	gatewayv1.ListenerEntry
	precedence int // of the owner
}

// portName is the name of a listener's port in the ledger.
func (l *Listener) portName() string { return strings.ToLower(string(l.Protocol)) }

// Listeners returns all listeners by their names in the ledger.
func (r *Routing) Listeners() map[types.NamespacedName]*Listener {
	all := map[types.NamespacedName]*Listener{}
	for _, key := range keysOf(r.Gateways) {
		if !r.isOurs(r.Gateways[key]) {
			continue
		}
		of := r.listenersOf(r.Gateways[key])
		for _, l := range of {
			l.Asks = l.Asks && !slices.ContainsFunc(of, func(other *Listener) bool {
				return other != l && other.Port == l.Port && other.Protocol == l.Protocol && other.precedence <= l.precedence
			})
			all[l.Key] = l
		}
	}
	return all
}

// isOurs returns whether we serve a Gateway. A Gateway whose class is missing keeps its numbers.
func (r *Routing) isOurs(gateway *gatewayv1.Gateway) bool {
	class := r.Classes[types.NamespacedName{Name: string(gateway.Spec.GatewayClassName)}]
	return gateway.DeletionTimestamp == nil && (class == nil || string(class.Spec.ControllerName) == r.Prefix+"/gateway")
}

// listenersOf returns the listeners of a Gateway, and of the ListenerSets that it admits, the oldest first.
func (r *Routing) listenersOf(gateway *gatewayv1.Gateway) (all []*Listener) {
	mux := types.NamespacedName{Namespace: gateway.Namespace, Name: "gateway-" + gateway.Name}
	for i := range gateway.Spec.Listeners {
		l := &gateway.Spec.Listeners[i]
		all = append(all, listener(mux, gateway, "gateway", 0, gatewayv1.ListenerEntry{Name: l.Name, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes}))
	}
	for i, set := range r.setsOf(gateway) {
		for _, entry := range set.Spec.Listeners {
			all = append(all, listener(mux, set, "listenerset", i+1, entry))
		}
	}
	return all
}

func listener(mux types.NamespacedName, owner client.Object, kind string, precedence int, entry gatewayv1.ListenerEntry) *Listener {
	l := &Listener{Key: types.NamespacedName{Namespace: owner.GetNamespace(), Name: kind + "/" + owner.GetName() + "/" + string(entry.Name)}, Mux: mux,
		Protocol: corev1.ProtocolTCP, Owner: owner, ListenerEntry: entry, precedence: precedence}
	if entry.Protocol == gatewayv1.UDPProtocolType {
		l.Protocol = corev1.ProtocolUDP
	}
	l.Asks = entry.Protocol == gatewayv1.TCPProtocolType || entry.Protocol == gatewayv1.UDPProtocolType
	return l
}

// setsOf returns the ListenerSets that a Gateway admits, the oldest first.
func (r *Routing) setsOf(gateway *gatewayv1.Gateway) []*gatewayv1.ListenerSet {
	var sets []*gatewayv1.ListenerSet
	for _, set := range r.Sets {
		if r.names(set, gateway) && isFrom(*gateway.Spec.AllowedListeners.Namespaces.From, gateway.Namespace, set.Namespace) && set.DeletionTimestamp == nil {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, func(a, b *gatewayv1.ListenerSet) int { return older(a, b) })
	return sets
}

// names returns whether a ListenerSet names a Gateway.
func (r *Routing) names(set *gatewayv1.ListenerSet, gateway *gatewayv1.Gateway) bool {
	return string(*set.Spec.ParentRef.Namespace) == gateway.Namespace && string(set.Spec.ParentRef.Name) == gateway.Name
}

func isFrom(from gatewayv1.FromNamespaces, own, namespace string) bool {
	return from == gatewayv1.NamespacesFromAll || own == namespace
}

func older(a, b client.Object) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(client.ObjectKeyFromObject(a).String(), client.ObjectKeyFromObject(b).String()))
}

// claimant is a listener that asks for its number, as a channel of its mux.
func (l *Listener) claimant() *channel {
	return &channel{valid: true, listener: l, Channel: validation.Channel{
		Object: validation.Object{Key: l.Key, UID: l.Owner.GetUID()}, Mux: l.Mux,
		Ports: []validation.ChannelPort{{Name: l.portName(), Protocol: l.Protocol, Port: l.Port, Request: validation.Request{Kind: validation.Number, Number: l.Port}}},
	}}
}

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
	slices.SortFunc(all, func(a, b route) int { return cmp.Or(older(a.object, b.object), strings.Compare(a.kind, b.kind)) })
	return all
}

// attaches returns whether a parentRef attaches its route to a listener.
func (l *Listener) attaches(of *route, ref *gatewayv1.ParentReference) bool {
	carries := map[gatewayv1.ProtocolType]string{gatewayv1.TCPProtocolType: "TCPRoute", gatewayv1.UDPProtocolType: "UDPRoute"}[l.ListenerEntry.Protocol]
	named := types.NamespacedName{Namespace: string(*ref.Namespace), Name: strings.ToLower(string(*ref.Kind)) + "/" + string(ref.Name) + "/" + string(l.Name)}
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

// portOf returns the Service and the name of the port that a backend means; false without a port, or without a grant for it.
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
		return g.Namespace == to.Namespace && string(from.Kind) == of.kind && string(from.Namespace) == of.object.GetNamespace() &&
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
