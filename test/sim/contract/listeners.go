package contract

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Routing has the objects of the Gateway API. All defaults are set in them. They allow routes and ListenerSets by
// namespace, without selectors and kinds.
type Routing struct {
	// Prefix is the prefix of our names.
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
	// Asks is true for a listener that may have its number: we carry its protocol, and no other listener of the same or a
	// higher precedence has the number.
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

// listenersOf returns the listeners of a Gateway, and then those of the ListenerSets that it admits, the oldest set
// first.
func (r *Routing) listenersOf(gateway *gatewayv1.Gateway) (all []*Listener) {
	mux := types.NamespacedName{Namespace: gateway.Namespace, Name: "gateway-" + gateway.Name}
	for i := range gateway.Spec.Listeners {
		l := &gateway.Spec.Listeners[i]
		all = append(all, listener(mux, gateway, "gateway", 0,
			gatewayv1.ListenerEntry{Name: l.Name, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes}))
	}
	for i, set := range r.setsOf(gateway) {
		for _, entry := range set.Spec.Listeners {
			all = append(all, listener(mux, set, "listenerset", i+1, entry))
		}
	}
	return all
}

func listener(mux types.NamespacedName, owner client.Object, kind string, precedence int,
	entry gatewayv1.ListenerEntry) *Listener {
	l := &Listener{Key: types.NamespacedName{Namespace: owner.GetNamespace(),
		Name: kind + "/" + owner.GetName() + "/" + string(entry.Name)}, Mux: mux,
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
		if r.names(set, gateway) && isFrom(*gateway.Spec.AllowedListeners.Namespaces.From, gateway.Namespace,
			set.Namespace) && set.DeletionTimestamp == nil {
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
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		strings.Compare(client.ObjectKeyFromObject(a).String(), client.ObjectKeyFromObject(b).String()))
}

// claimant returns a listener that asks for its number, in the form of a channel of its mux.
func (l *Listener) claimant() *channel {
	return &channel{valid: true, listener: l, Channel: validation.Channel{
		Object: validation.Object{Key: l.Key, UID: l.Owner.GetUID()}, Mux: l.Mux,
		Ports: []validation.ChannelPort{{Name: l.portName(), Protocol: l.Protocol, Port: l.Port,
			Request: validation.Request{Kind: validation.Number, Number: l.Port}}},
	}}
}
