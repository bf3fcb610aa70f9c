package allocate

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
)

// judge checks each write of the process against the promises.
type judge struct {
	*stage
	// has are the numbers that routes have and must keep, by the route's UID.
	has map[types.UID]slot
	// owners are the names of these routes.
	owners map[types.UID]types.NamespacedName
	// asked are routes that asked for the number that they have. If such a route asks for auto later, it must keep the
	// number only if the range has it.
	asked map[types.UID]bool
	// made are the ListenerSets as the process wrote them last.
	made map[types.NamespacedName]*gatewayv1.ListenerSet
	// ledgers are the ledgers that the process may use: the one that it wrote last, and those that people put since.
	ledgers map[types.NamespacedName][]*corev1.ConfigMap
	// harmed are Gateways whose ledger people deleted or changed, until the process writes the ledger, or the Gateway is
	// well at rest.
	harmed map[types.NamespacedName]bool
}

func newJudge(s *stage) judge {
	return judge{s, map[types.UID]slot{}, map[types.UID]types.NamespacedName{}, map[types.UID]bool{},
		map[types.NamespacedName]*gatewayv1.ListenerSet{},
		map[types.NamespacedName][]*corev1.ConfigMap{}, map[types.NamespacedName]bool{}}
}

// deed forgets the numbers that routes needn't keep after something that people did: see mustKeep.
func (j *judge) deed() {
	for _, cm := range gatewaytest.Of[*corev1.ConfigMap](j.api.Shelf) {
		if gateway, is := gatewayOfLedger(cm); is && !slices.Contains(j.ledgers[gateway], cm) {
			j.ledgers[gateway] = append(j.ledgers[gateway], cm)
		}
	}
	for uid, on := range j.has {
		if !j.mustKeep(uid, on) {
			delete(j.has, uid)
		}
	}
}

// forgetDisasters ends the excuses of Gateways that are well again. It is called at rest.
func (j *judge) forgetDisasters() {
	maps.DeleteFunc(j.harmed, func(gateway types.NamespacedName, _ bool) bool { return j.isWell(gateway) })
	maps.DeleteFunc(j.made, func(_ types.NamespacedName, made *gatewayv1.ListenerSet) bool {
		return j.isWell(gatewayOfSet(made)) &&
			gatewaytest.Get[*gatewayv1.ListenerSet](j.api.Shelf, made.Namespace, made.Name) == nil
	})
}

// mustKeep is true for a route that still asks for its number, on a Gateway that is missing or admits it. Two disasters
// at once are excepted: a ledger that was lost or edited together with a ListenerSet.
func (j *judge) mustKeep(uid types.UID, on slot) bool {
	route := j.routeOf(j.owners[uid])
	if route == nil || route.Object.GetUID() != uid {
		return false
	}
	w, asks := j.wishOf(route)
	if !asks || w.gateway != on.gateway || w.isOff || w.set == "" || !w.isBad && w.number != 0 && w.number != on.number {
		return false
	}
	gateway := gatewaytest.Get[*gatewayv1.Gateway](j.api.Shelf, on.gateway.Namespace, on.gateway.Name)
	if j.gives(gateway) && !admits(j.api.Shelf, gateway, route.Object.GetNamespace()) {
		return false
	}
	if j.isContradicted(uid, on) {
		return false
	}
	if j.asked[uid] = j.asked[uid] || w.number == on.number; j.asked[uid] && w.number != on.number &&
		(gateway == nil || !slices.Contains(ranges(gateway.Annotations[j.keys.PortRange]), on.number)) {
		return false
	}
	harmed, isForeign := j.harmed[on.gateway], j.foreign(j.api.Shelf, on.gateway)[on]
	return !harmed && !isForeign || !j.areEdited(on.gateway)
}

// isContradicted is true if an older copy of the ledger gives the number to another route, or another number to the
// route. A Gateway that was created again doesn't tell that the copy is old, so the allocator uses the copy. A copy
// from the time of the former Gateway may lack the number.
func (j *judge) isContradicted(uid types.UID, on slot) bool {
	cm := j.ledgerOf(on.gateway)
	if !j.harmed[on.gateway] || cm == nil || record.Decode(cm, read.MuxKey(on.gateway), j.keys).Condition != plan.Good ||
		j.isOutdated(on.gateway) {
		return false
	}
	claims := j.claimsIn(cm)
	for at, claim := range claims {
		if (at == on) != (claim.Owner.Channel == j.owners[uid]) {
			return true
		}
	}
	gateway := gatewaytest.Get[*gatewayv1.Gateway](j.api.Shelf, on.gateway.Namespace, on.gateway.Name)
	_, has := claims[on]
	return !has && gateway != nil && record.Decode(cm, read.MuxKey(on.gateway), j.keys).Ledger.MuxUID != gateway.UID
}

// areEdited is true if people edited or deleted a ListenerSet of ours on a Gateway, or made one that looks like ours.
func (j *judge) areEdited(gateway types.NamespacedName) bool {
	for name, made := range j.made {
		if gatewayOfSet(made) == gateway && !j.isAsMade(name) {
			return true
		}
	}
	return slices.ContainsFunc(gatewaytest.Of[*gatewayv1.ListenerSet](j.api.Shelf), func(set *gatewayv1.ListenerSet) bool {
		_, isOurs := j.madeFor(set)
		return isOurs && gatewayOfSet(set) == gateway && !j.isAsMade(client.ObjectKeyFromObject(set))
	})
}

func (j *judge) isAsMade(name types.NamespacedName) bool {
	made := j.made[name]
	is := gatewaytest.Get[*gatewayv1.ListenerSet](j.api.Shelf, name.Namespace, name.Name)
	return made != nil && is != nil && equality.Semantic.DeepEqual(is.Spec, made.Spec) &&
		equality.Semantic.DeepEqual(is.Labels, made.Labels) &&
		equality.Semantic.DeepEqual(is.Annotations, made.Annotations) &&
		equality.Semantic.DeepEqual(is.OwnerReferences, made.OwnerReferences)
}

// write judges a write of the process.
func (j *judge) write(before, after client.Object) {
	object := after
	if after == nil {
		object = before
	}
	j.note("  writes %s %s: %s", gatewaytest.KindOf(object), client.ObjectKeyFromObject(object), textOf(after))
	switch object.(type) {
	case *gatewayv1.Gateway:
		j.stamped(before, after)
	case *gatewayv1.ListenerSet:
		was, _ := before.(*gatewayv1.ListenerSet)
		now, _ := after.(*gatewayv1.ListenerSet)
		j.set(was, now)
	case *corev1.ConfigMap:
		was, _ := before.(*corev1.ConfigMap)
		now, _ := after.(*corev1.ConfigMap)
		j.ledger(was, now)
	case *gatewayv1.TCPRoute, *gatewayv1.UDPRoute:
		j.shown(before, after)
	default:
		j.checkf(false, "not ours, not touched: a write of %s %s", gatewaytest.KindOf(object), object.GetName())
	}
}

// stamped judges a write of a Gateway: it may change only the generation, to that of a ledger that the process may use.
func (j *judge) stamped(before, after client.Object) {
	was, _ := before.(*gatewayv1.Gateway)
	now, _ := after.(*gatewayv1.Gateway)
	j.checkf(was != nil && now != nil, "not ours, not touched: a Gateway is made or deleted")
	gateway := client.ObjectKeyFromObject(now)
	others := func(of *gatewayv1.Gateway) map[string]string {
		all := maps.Clone(of.Annotations)
		delete(all, j.keys.Generation)
		return all
	}
	j.checkf(maps.Equal(others(was), others(now)) && equality.Semantic.DeepEqual(was.Spec, now.Spec) &&
		equality.Semantic.DeepEqual(was.Status, now.Status),
		"not ours, not touched: Gateway %s is changed", gateway)
	j.checkf(slices.ContainsFunc(j.ledgers[gateway], func(cm *corev1.ConfigMap) bool {
		return j.generationOf(cm) == stampOf(j.stage, now)
	}), "claims: Gateway %s gets generation %d, which no ledger has", gateway, stampOf(j.stage, now))
}

func (j *judge) set(was, now *gatewayv1.ListenerSet) {
	var owner types.NamespacedName
	if was != nil {
		made, isOurs := j.madeFor(was)
		j.checkf(isOurs, "not ours, not touched: ListenerSet %s/%s", was.Namespace, was.Name)
		owner = made
	}
	if now == nil {
		j.deleted(was, owner)
		return
	}
	made, isOurs := j.madeFor(now)
	j.checkf(isOurs && (was == nil || made == owner), "not ours, not touched: ListenerSet %s/%s of %s is written for %s",
		now.Namespace, now.Name, owner, made)
	on := slotsOf(now)[0]
	for name, other := range j.made {
		j.checkf(name == client.ObjectKeyFromObject(now) || !j.isAsMade(name) || slotsOf(other)[0] != on,
			"one owner: ListenerSets %s/%s and %s have number %v", now.Namespace, now.Name, name, on)
	}
	j.checkf(slices.ContainsFunc(j.ledgers[on.gateway], func(cm *corev1.ConfigMap) bool {
		claim, is := j.claimsIn(cm)[on]
		return is && claim.State == plan.Held && claim.Owner.Channel == made
	}), "claims: ListenerSet %s/%s has number %v, and the ledger doesn't say that it is %s's", now.Namespace, now.Name, on,
		made)
	j.made[client.ObjectKeyFromObject(now)] = now
	route := j.routeOf(made)
	if route == nil {
		return // it was deleted a moment ago
	}
	uid := route.Object.GetUID()
	kept, must := j.has[uid]
	j.checkf(!must || kept == on, "it stays: %s has number %v, and gets %v", made, kept, on)
	j.owners[uid] = made
	if j.mustKeep(uid, on) {
		j.has[uid] = on
	}
}

// deleted judges the deletion of a ListenerSet. A route that the cache shows as it is must keep its ListenerSet. The
// process may delete a ListenerSet that people edited, to make it again.
func (j *judge) deleted(was *gatewayv1.ListenerSet, owner types.NamespacedName) {
	route := j.routeOf(owner)
	if route == nil || !j.isAsMade(client.ObjectKeyFromObject(was)) {
		return
	}
	kept, must := j.has[route.Object.GetUID()]
	w, _ := j.wishOf(route)
	object, _ := route.Object.(client.Object)
	cached := j.cache.At(object)
	isCurrent := cached == nil || cached.GetGeneration() == route.Object.GetGeneration()
	j.checkf(!must || w.set != was.Name || !slices.Contains(slotsOf(was), kept) ||
		!isCurrent, "it stays: %s has number %v, and loses its ListenerSet", owner, kept)
}

// ledger judges a write of a ledger.
func (j *judge) ledger(was, now *corev1.ConfigMap) {
	j.checkf(now != nil, "not ours, not touched: a ConfigMap is deleted")
	gateway, is := gatewayOfLedger(now)
	j.checkf(is && (was == nil || was.Annotations[j.keys.Mux] == read.MuxKey(gateway).String()),
		"not ours, not touched: ConfigMap %s", now.Name)
	if was != nil {
		j.checkf(was.Data["note"] == now.Data["note"], "not ours, not touched: ConfigMap %s loses another key", now.Name)
	}
	before, after := j.claimsIn(was), j.claimsIn(now)
	for on, claim := range before {
		if _, stays := after[on]; stays || j.harmed[gateway] {
			continue
		}
		for name, made := range j.made {
			owner, _ := j.madeFor(made)
			j.checkf(owner != claim.Owner.Channel || slotsOf(made)[0] != on || !j.isAsMade(name),
				"claims: number %v leaves the ledger, and ListenerSet %s of %s still has it", on, name, owner)
		}
	}
	for on, claim := range after {
		if claim.State == plan.Held && before[on].Owner != claim.Owner && !j.harmed[gateway] {
			j.given(on, &claim)
		}
	}
	for uid, on := range j.has {
		claim, has := after[on]
		j.checkf(on.gateway != gateway || has && claim.State == plan.Held && claim.Owner.Channel == j.owners[uid],
			"it stays: %s has number %v, and the ledger says %v", j.owners[uid], on, claim)
	}
	j.ledgers[gateway] = []*corev1.ConfigMap{now}
	delete(j.harmed, gateway)
}

// given judges a new claim: its number isn't anybody else's, as far as the cache shows.
func (j *judge) given(on slot, claim *plan.Claim) {
	for _, set := range gatewaytest.Of[*gatewayv1.ListenerSet](j.cache) {
		if owner, isOurs := j.madeFor(set); isOurs && owner == claim.Owner.Channel && slices.Contains(slotsOf(set), on) {
			return
		}
	}
	j.checkf(!j.foreign(j.cache, on.gateway)[on],
		"bounds: %s gets number %v, which a listener or ListenerSet of others has", claim.Owner.Channel, on)
}

// shown judges a write of a route's status or annotations.
func (j *judge) shown(before, after client.Object) {
	was, _ := read.RouteOf(before)
	now, _ := read.RouteOf(after)
	name := was.Kind + " " + client.ObjectKeyFromObject(before).String()
	others := func(route *read.Route) []gatewayv1.RouteParentStatus {
		return slices.DeleteFunc(slices.Clone(route.Status.Parents), func(p gatewayv1.RouteParentStatus) bool {
			return p.ControllerName == allocator
		})
	}
	foreign := func(route *read.Route) map[string]string {
		all := maps.Clone(route.Object.GetAnnotations())
		delete(all, j.keys.Ports)
		return all
	}
	j.checkf(equality.Semantic.DeepEqual(others(&was), others(&now)),
		"not ours, not touched: %s loses what another controller wrote", name)
	j.checkf(maps.Equal(foreign(&was), foreign(&now)) && maps.Equal(before.GetLabels(), after.GetLabels()) &&
		equality.Semantic.DeepEqual(was.Spec, now.Spec),
		"not ours, not touched: %s is changed", name)
}

const allocator = "svc-mux.nowake.ai/allocator"
