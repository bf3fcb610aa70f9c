package read

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Observed is the input of a decision about a Gateway of ours.
type Observed struct {
	Gateway *gatewayv1.Gateway
	// Mux names the Gateway's mux.
	Mux types.NamespacedName
	// OnGateways is true if the mux is on a pool of gateways, which weigh backends.
	OnGateways bool
	// Sets are the ListenerSets that name the Gateway, and Routes the routes that name it or one of them.
	Sets   []*gatewayv1.ListenerSet
	Routes []Route
	// Namespaces are the labels of the namespaces of Sets and Routes.
	Namespaces map[string]labels.Set
	// Services are the Services that backends name. Grants are the ReferenceGrants beside backends in other namespaces
	// than their route.
	Services map[types.NamespacedName]*corev1.Service
	Grants   []*gatewayv1.ReferenceGrant
}

// Served is a Gateway with its listeners and routes, as the specification judges them. Package plan decides about the
// numbers.
type Served struct {
	*Observed
	// Listeners are the Gateway's own, and then those of admitted ListenerSets, in the order of precedence.
	Listeners []Listener
	// NotAdmitted are the ListenerSets that the Gateway doesn't admit.
	NotAdmitted []*gatewayv1.ListenerSet
	Attachments []Attachment
	found       found
}

// Refusal says why a request isn't fulfilled, with a reason of the Gateway API or of ours.
type Refusal struct{ Reason, Message string }

// Listener is a listener of the Gateway or of a ListenerSet. It is a claimant of one number.
type Listener struct {
	Key types.NamespacedName
	Set *gatewayv1.ListenerSet // nil for a listener of the Gateway itself
	gatewayv1.ListenerEntry
	// Kinds are the kinds of routes that may attach.
	Kinds []gatewayv1.RouteGroupKind
	// Unsupported, Conflict and Unresolved are nil if all is well.
	Unsupported, Conflict, Unresolved *Refusal
	// Attached counts the routes that attach to it. Carried is the oldest of them, whose backends get the packets; nil
	// without one.
	Attached int
	Carried  *Route
}

// Attachment is one parentRef of a route.
type Attachment struct {
	Route *Route
	Ref   *gatewayv1.ParentReference
	// Refused and Unresolved are nil if the route is accepted, and if its backends are found.
	Refused, Unresolved *Refusal
	// Listeners are the listeners that the route attaches to, as indexes.
	Listeners []int
}

// Judge judges a Gateway's listeners and routes.
func Judge(o *Observed) *Served {
	s := &Served{Observed: o, found: newFound(o.Grants)}
	for i := range o.Gateway.Spec.Listeners {
		l := &o.Gateway.Spec.Listeners[i]
		s.add(nil, gatewayv1.ListenerEntry{Name: l.Name, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes})
	}
	for _, set := range byPrecedence(o.Sets) {
		s.found.sets[keyOf(set)] = admits(o.Gateway, set.Namespace, o.Namespaces[set.Namespace])
		if !s.found.sets[keyOf(set)] {
			s.NotAdmitted = append(s.NotAdmitted, set)
			continue
		}
		for i := range set.Spec.Listeners {
			s.add(set, set.Spec.Listeners[i])
		}
	}
	s.findConflicts()
	s.attach()
	return s
}

// byPrecedence sorts ListenerSets: older ones first, then by namespace and name.
func byPrecedence(sets []*gatewayv1.ListenerSet) []*gatewayv1.ListenerSet {
	return slices.SortedFunc(slices.Values(sets), func(a, b *gatewayv1.ListenerSet) int { return compareAge(a, b) })
}

func compareAge(a, b metav1.Object) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName()))
}

func (s *Served) add(set *gatewayv1.ListenerSet, entry gatewayv1.ListenerEntry) {
	if set == nil {
		s.found.own = append(s.found.own, len(s.Listeners))
	} else {
		s.found.ofSet[keyOf(set)] = append(s.found.ofSet[keyOf(set)], len(s.Listeners))
	}
	s.Listeners = append(s.Listeners, newListener(s.Gateway, set, entry))
}

func newListener(gateway *gatewayv1.Gateway, set *gatewayv1.ListenerSet, entry gatewayv1.ListenerEntry) Listener {
	l := Listener{Set: set, ListenerEntry: entry}
	if set == nil {
		l.Key = ListenerOfGateway(gateway, entry.Name)
	} else {
		l.Key = ListenerOfSet(set, entry.Name)
	}
	switch entry.Protocol {
	case gatewayv1.TCPProtocolType:
		l.allow(TCPRoute)
	case gatewayv1.UDPProtocolType:
		l.allow(UDPRoute)
	default:
		l.Unsupported = &Refusal{string(gatewayv1.ListenerReasonUnsupportedProtocol),
			fmt.Sprintf("protocol %s isn't supported: use TCP or UDP", entry.Protocol)}
	}
	return l
}

// NotAdmittedListeners returns the listeners of the ListenerSets that the Gateway doesn't admit. They aren't among
// Listeners.
func (s *Served) NotAdmittedListeners() (all []Listener) {
	for _, set := range s.NotAdmitted {
		for i := range set.Spec.Listeners {
			all = append(all, newListener(s.Gateway, set, set.Spec.Listeners[i]))
		}
	}
	return all
}

// allow sets Kinds to the kind of routes that the listener's protocol can carry, if allowedRoutes has this kind or
// none. Any other kind in allowedRoutes is noted in Unresolved.
func (l *Listener) allow(kind string) {
	supported := gatewayv1.RouteGroupKind{Group: new(gatewayv1.Group), Kind: gatewayv1.Kind(kind)}
	*supported.Group = gatewayv1.GroupName
	if l.AllowedRoutes == nil || len(l.AllowedRoutes.Kinds) == 0 {
		l.Kinds = []gatewayv1.RouteGroupKind{supported}
		return
	}
	var bad []string
	for _, asked := range l.AllowedRoutes.Kinds {
		if asked.Kind == supported.Kind && (asked.Group == nil || *asked.Group == gatewayv1.GroupName) {
			l.Kinds = []gatewayv1.RouteGroupKind{supported}
		} else {
			bad = append(bad, string(asked.Kind))
		}
	}
	if len(bad) > 0 {
		l.Unresolved = &Refusal{string(gatewayv1.ListenerReasonInvalidRouteKinds),
			fmt.Sprintf("allowedRoutes.kinds: a listener of protocol %s carries %s, and not %s", l.Protocol, kind,
				strings.Join(bad, ", "))}
	}
}

// Slot is the listener's number.
func (l *Listener) Slot() plan.Slot {
	return plan.Slot{Number: l.Port, Protocol: transportOf(l.Protocol)}
}

// namedFor names the listener to the owner of another one. A tenant learns nothing of the ListenerSets of other
// namespaces.
func (l *Listener) namedFor(other *Listener) string {
	switch {
	case l.Set == nil:
		return fmt.Sprintf("listener %s of the Gateway", l.Name)
	case other.Set != nil && other.Set.Namespace == l.Set.Namespace:
		return fmt.Sprintf("listener %s of ListenerSet %s/%s", l.Name, l.Set.Namespace, l.Set.Name)
	}
	return "a listener of another namespace"
}

// findConflicts finds listeners with one number. Within the Gateway, and within a ListenerSet, none of them wins.
// Otherwise the first one in the order of precedence does.
func (s *Served) findConflicts() {
	first := map[plan.Slot]*Listener{}
	for i := range s.Listeners {
		l := &s.Listeners[i]
		winner := first[l.Slot()]
		if winner == nil {
			first[l.Slot()] = l
			continue
		}
		reason := gatewayv1.ListenerEntryReasonListenerConflict
		if winner.Protocol != l.Protocol {
			reason = gatewayv1.ListenerEntryReasonProtocolConflict
		}
		message := fmt.Sprintf("port %d/%s belongs to %s, which comes first: choose another number", l.Port,
			l.Slot().Protocol, winner.namedFor(l))
		if winner.Set == l.Set {
			message = fmt.Sprintf("listeners %s and %s have port %d/%s: none of them is served", winner.Name, l.Name, l.Port,
				l.Slot().Protocol)
			winner.Conflict = cmp.Or(winner.Conflict, &Refusal{string(reason), message})
		}
		l.Conflict = &Refusal{string(reason), message}
	}
}

// IsServed is true for a listener that may have its number.
func (l *Listener) IsServed() bool {
	return l.Unsupported == nil && l.Conflict == nil && len(l.Kinds) > 0
}

// Claimants are the listeners that ask for their numbers, as package plan knows channels.
func (s *Served) Claimants() []plan.ObservedChannel {
	var all []plan.ObservedChannel
	for i := range s.Listeners {
		l := &s.Listeners[i]
		if !l.IsServed() {
			continue
		}
		var owner metav1.Object = s.Gateway
		if l.Set != nil {
			owner = l.Set
		}
		slot := l.Slot()
		all = append(all, plan.ObservedChannel{Admitted: true, Channel: validation.Channel{
			Object: validation.Object{Key: l.Key, UID: owner.GetUID(), Created: owner.GetCreationTimestamp().Time,
				Deleting: owner.GetDeletionTimestamp() != nil},
			Mux: s.Mux,
			Ports: []validation.ChannelPort{{Name: portName(slot), Protocol: slot.Protocol, Port: slot.Number,
				Request: validation.Request{Kind: validation.Number, Number: slot.Number}}},
		}})
	}
	return all
}

func portName(slot plan.Slot) string { return strings.ToLower(string(slot.Protocol)) }

// maxKey is the longest name of a claimant: slices have the name as the value of a label.
const maxKey = 63

// ListenerOfGateway names a Gateway's own listener among claimants.
func ListenerOfGateway(gateway *gatewayv1.Gateway, listener gatewayv1.SectionName) types.NamespacedName {
	return listenerKey(gateway.Namespace, claimants.ListenerOfGateway, gateway.Name, listener)
}

// ListenerOfSet names a listener of a ListenerSet among claimants.
func ListenerOfSet(set *gatewayv1.ListenerSet, listener gatewayv1.SectionName) types.NamespacedName {
	return listenerKey(set.Namespace, claimants.ListenerOfSet, set.Name, listener)
}

// listenerKey names a listener among claimants. A name that is too long ends in digits of its hash.
func listenerKey(namespace, kind, object string, listener gatewayv1.SectionName) types.NamespacedName {
	name := kind + object + "/" + string(listener)
	if len(name) > maxKey {
		sum := sha256.Sum256([]byte(name))
		name = strings.TrimRight(kind+object[:min(len(object), maxKey-len(kind)-11)], "-.") + "-" +
			hex.EncodeToString(sum[:5])
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}
