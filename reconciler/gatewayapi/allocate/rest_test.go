package allocate

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// atRest compares all routes and ListenerSets with what the reference says.
func (s *stage) atRest() {
	s.t.Helper()
	taken := map[slot]string{}
	for _, set := range gatewaytest.Of[*gatewayv1.ListenerSet](s.api.Shelf) {
		owner, isOurs := s.madeFor(set)
		if !isOurs || !s.isWell(gatewayOfSet(set)) {
			continue
		}
		name := set.Namespace + "/" + set.Name
		route := s.routeOf(owner)
		s.checkf(route != nil, "at rest: ListenerSet %s is left of a route that is gone", name)
		w, asks := s.wishOf(route)
		s.checkf(asks && w.gateway == gatewayOfSet(set), "at rest: ListenerSet %s is left of a route that doesn't ask for it",
			name)
		on := slotsOf(set)[0]
		s.checkf(taken[on] == "", "one owner: %s and %s have number %v", name, taken[on], on)
		taken[on] = name
		s.checkf(set.OwnerReferences[0].UID == route.Object.GetUID(),
			"at rest: the owner of ListenerSet %s is an older route of that name", name)
		s.checkf(len(set.Spec.Listeners) == 1 && set.Spec.Listeners[0].Protocol == protocolOfKind(route.Kind),
			"at rest: ListenerSet %s has %v", name, set.Spec.Listeners)
	}
	for _, route := range s.routes() {
		s.routeAtRest(route)
	}
}

func protocolOfKind(kind string) gatewayv1.ProtocolType {
	if kind == "UDPRoute" {
		return gatewayv1.UDPProtocolType
	}
	return gatewayv1.TCPProtocolType
}

// isWell is true for a Gateway that gives numbers, and that nothing freezes.
func (s *stage) isWell(key types.NamespacedName) bool {
	gateway := gatewaytest.Get[*gatewayv1.Gateway](s.api.Shelf, key.Namespace, key.Name)
	if !s.gives(gateway) || len(ranges(gateway.Annotations[s.keys.PortRange])) == 0 ||
		gateway.Annotations[s.keys.Disabled] == "true" {
		return false
	}
	cm := s.ledgerOf(key)
	return cm == nil || record.Decode(cm, read.MuxKey(key), s.keys).Condition <= plan.Missing && !s.isOutdated(key)
}

// publishedFor returns the number that a route's ListenerSet on a Gateway has; 0 without one.
func (s *stage) publishedFor(route *read.Route, gateway types.NamespacedName) int32 {
	for _, set := range gatewaytest.Of[*gatewayv1.ListenerSet](s.api.Shelf) {
		if owner, isOurs := s.madeFor(set); isOurs && owner == ownerOf(route) && gatewayOfSet(set) == gateway {
			return set.Spec.Listeners[0].Port
		}
	}
	return 0
}

func ownerOf(route *read.Route) types.NamespacedName {
	return ownerKey(route.Kind, route.Object.GetNamespace(), route.Object.GetName())
}

// saidOf returns the conditions that the allocator wrote.
func saidOf(route *read.Route) (all []metav1.Condition, entries int) {
	for _, p := range route.Status.Parents {
		if p.ControllerName == allocator {
			all = p.Conditions
			entries++
		}
	}
	return all, entries
}

func (s *stage) routeAtRest(route *read.Route) {
	owner := ownerOf(route)
	w, asks := s.wishOf(route)
	conditions, entries := saidOf(route)
	if !asks {
		s.checkf(entries == 0, "at rest: %s asks for nothing, and is told %v", owner, conditions)
		return
	}
	gateway := gatewaytest.Get[*gatewayv1.Gateway](s.api.Shelf, w.gateway.Namespace, w.gateway.Name)
	if s.gives(gateway) && !s.isWell(w.gateway) {
		return // it is frozen
	}
	s.checkf(entries == 1, "at rest: %s has %d entries of ours in its status", owner, entries)
	accepted := meta.FindStatusCondition(conditions, s.keys.Accepted)
	s.checkf(accepted != nil, "at rest: %s isn't told whether it has a number", owner)
	published := s.publishedFor(route, w.gateway)
	refused := func(reasons ...string) {
		s.checkf(accepted.Status == metav1.ConditionFalse && slices.Contains(reasons, accepted.Reason) &&
			accepted.Message != "",
			"at rest: %s is told %s %s: %s, want one of %v", owner, accepted.Status, accepted.Reason, accepted.Message, reasons)
	}
	bad := s.badReasons(route, &w)
	switch {
	case !s.gives(gateway):
		refused(append(bad, "MuxNotFound")...)
		return
	case !admits(s.api.Shelf, gateway, route.Object.GetNamespace()):
		refused("NamespaceNotAllowed")
		s.checkf(published == 0, "at rest: %s has number %d, and the Gateway doesn't admit its namespace", owner, published)
		return
	case len(bad) > 0:
		refused(append(bad, "Disabled")...)
	case w.isOff:
		refused("Disabled")
		s.checkf(published == 0, "at rest: %s has number %d, and is withdrawn", owner, published)
	case published > 0 && w.number == 0 && accepted.Status == metav1.ConditionFalse &&
		!slices.Contains(ranges(gateway.Annotations[s.keys.PortRange]), published):
		// The route asked for that number, and asks for auto now, but no number is free. So it keeps the number that it has.
		refused("InvalidPortMapping", "MuxPortLimitExceeded", "QuotaExceeded")
		s.mayRefuse(route, &w, gateway, accepted)
	case published > 0 && (w.number == 0 || w.number == published):
		s.checkf(accepted.Status == metav1.ConditionTrue, "at rest: %s has number %d, and is told %v", owner, published,
			accepted)
	default:
		refused("MuxPortConflict", "OutOfRange", "InvalidPortMapping", "MuxPortLimitExceeded", "QuotaExceeded")
		s.mayRefuse(route, &w, gateway, accepted)
	}
	number := ""
	if published > 0 {
		number = strconv.Itoa(int(published))
	}
	s.checkf(w.isOff || len(bad) > 0 || route.Object.GetAnnotations()[s.keys.Ports] == number,
		"at rest: %s is told number %s, and has %q", owner, route.Object.GetAnnotations()[s.keys.Ports], number)
}

// badReasons are the reasons to refuse a route that asks for something impossible, or for a ListenerSet that isn't its
// own.
func (s *stage) badReasons(route *read.Route, w *wish) (reasons []string) {
	if w.gateway.Name == "" {
		reasons = append(reasons, "InvalidGateway")
	}
	if w.isBad {
		reasons = append(reasons, "InvalidPortMapping")
	}
	if w.set == "" {
		return append(reasons, "NoListenerSet")
	}
	if set := gatewaytest.Get[*gatewayv1.ListenerSet](s.api.Shelf, route.Object.GetNamespace(), w.set); set != nil {
		if owner, isOurs := s.madeFor(set); !isOurs || owner != ownerOf(route) {
			return append(reasons, "ListenerSetTaken")
		}
		return reasons
	}
	for _, other := range s.routes() {
		o, asks := s.wishOf(other)
		a, b := route.Object.GetCreationTimestamp(), other.Object.GetCreationTimestamp()
		if asks && ownerOf(other) != ownerOf(route) && o.gateway == w.gateway && o.set == w.set &&
			other.Object.GetNamespace() == route.Object.GetNamespace() &&
			b.Before(&a) {
			return append(reasons, "ListenerSetTaken")
		}
	}
	return reasons
}

// mayRefuse checks that no number was free for a route without one.
func (s *stage) mayRefuse(route *read.Route, w *wish, gateway *gatewayv1.Gateway, told *metav1.Condition) {
	claims, foreign := s.claimsIn(s.ledgerOf(w.gateway)), s.foreign(s.api.Shelf, w.gateway)
	isFree := func(number int32) bool {
		on := slot{w.gateway, number, string(protocolOfKind(route.Kind))}
		_, claimed := claims[on]
		return !claimed && !foreign[on]
	}
	held, inNamespace := len(foreign), 0
	for _, claim := range claims {
		if claim.State == plan.Held {
			held++
			if claim.Owner.Channel.Namespace == route.Object.GetNamespace() {
				inNamespace++
			}
		}
	}
	limit := func(key string, used int) bool {
		most, err := strconv.Atoi(gateway.Annotations[key])
		return err == nil && used >= most
	}
	switch told.Reason {
	case "MuxPortLimitExceeded":
		s.checkf(limit(s.keys.MaxPorts, held), "at rest: %s is refused, though only %d numbers are in use: %s",
			ownerOf(route), held, told.Message)
		return
	case "QuotaExceeded":
		s.checkf(limit(s.keys.MaxPortsPerNamespace, inNamespace),
			"at rest: %s is refused, though its namespace has %d numbers: %s", ownerOf(route), inNamespace, told.Message)
		return
	}
	if w.number > 0 {
		explicit := gateway.Annotations[s.keys.ExplicitRange]
		s.checkf(!isFree(w.number) || explicit != "" && !slices.Contains(ranges(explicit), w.number),
			"at rest: %s is refused number %d, which is free: %s",
			ownerOf(route), w.number, told.Message)
		return
	}
	for _, number := range ranges(gateway.Annotations[s.keys.PortRange]) {
		s.checkf(!isFree(number) || s.isAskedFor(w.gateway, number), "at rest: %s has no number, though %d is free: %s %s",
			ownerOf(route), number, told.Reason, told.Message)
	}
}

// isAskedFor is true for a number that a route asks for, which auto leaves alone.
func (s *stage) isAskedFor(gateway types.NamespacedName, number int32) bool {
	return slices.ContainsFunc(s.routes(), func(route *read.Route) bool {
		w, asks := s.wishOf(route)
		return asks && w.gateway == gateway && w.number == number
	})
}
