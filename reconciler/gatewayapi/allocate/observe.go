package allocate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
	"nowake.ai/svc-lb-mux/validation"
)

// pass is one pass over a Gateway.
type pass struct {
	*line
	key     types.NamespacedName
	gateway *gatewayv1.Gateway // nil if it isn't there, or gives no numbers
	routes  map[types.NamespacedName]*asking
	// sets are the ListenerSets that the allocator made for routes on this Gateway.
	sets []*gatewayv1.ListenerSet
	// others are the ListenerSets on this Gateway that users made.
	others []*gatewayv1.ListenerSet
	world  plan.World
	known  plan.Memory
	entry  ledger.Entry
	memory *memory
	again  bool      // another pass is due at once
	due    time.Time // when the next postponed correction is due
}

// asking is a route that asks for a number.
type asking struct {
	read.Route
	asks validation.Route
}

// observe gathers what the decision about a Gateway needs.
func (l *line) observe(ctx context.Context, key types.NamespacedName) (*pass, error) {
	now := l.Now()
	m := l.memory(key)
	o := &pass{line: l, key: key, memory: m, routes: map[types.NamespacedName]*asking{}}
	o.world = plan.World{Now: now, Keys: l.keys, Key: read.MuxKey(key), RebuildFrom: l.RebuildFrom(), Unmet: !m.met}
	gateway, why, err := l.findGateway(ctx, key)
	if err != nil {
		return nil, err
	}
	o.gateway, o.world.Absent = gateway, why
	if err := o.observeSets(ctx); err != nil {
		return nil, err
	}
	if err := o.observeRoutes(ctx); err != nil {
		return nil, err
	}
	o.known = plan.Memory{LastGood: m.lastGood, Frozen: m.frozen, Refused: map[types.NamespacedName]plan.PatchRefusal{},
		LimitedUntil: m.spending.Limited(now)}
	for route, no := range m.refused {
		if now.Before(no.until) {
			o.known.Refused[route] = no.PatchRefusal
		}
	}
	o.known.Blocked = m.active(now)
	if gateway == nil {
		return o, nil
	}
	if err := o.readMux(ctx); err != nil {
		return nil, err
	}
	if err := o.observeLedger(ctx); err != nil {
		return nil, err
	}
	return o, o.confirmOwners(ctx)
}

// findGateway returns a Gateway that gives numbers. If it is nil, the text says why.
func (l *line) findGateway(ctx context.Context, key types.NamespacedName) (*gatewayv1.Gateway, string, error) {
	if key.Name == "" { // the routes' annotation names none
		return nil, read.NoGateway(key), nil
	}
	var gateway gatewayv1.Gateway
	err := l.cache.Get(ctx, key, &gateway)
	switch {
	case apierrors.IsNotFound(err):
		return nil, read.NoGateway(key), nil
	case err != nil:
		return nil, "", fmt.Errorf("gateway %s: %w", key, err)
	case !read.Asks(l.Language, &gateway):
		return nil, read.NoRange(key, &l.keys), nil
	}
	return &gateway, "", nil
}

// eachRoute calls do with each route in the cache that asks for a number.
func (l *line) eachRoute(ctx context.Context, do func(*read.Route), options ...client.ListOption) error {
	return l.kinds.EachRoute(ctx, l.cache, func(route *read.Route) {
		if route.AsksForNumber(l.Language) {
			do(route)
		}
	}, options...)
}

// observeRoutes reads the routes that ask for a number on the Gateway.
func (o *pass) observeRoutes(ctx context.Context) error {
	err := o.eachRoute(ctx, func(route *read.Route) { o.add(route) }, client.MatchingFields{indexGateway: o.key.String()})
	if err != nil {
		return fmt.Errorf("routes of Gateway %s: %w", o.key, err)
	}
	return o.checkSets(ctx)
}

// add puts a route into the world.
func (o *pass) add(route *read.Route) {
	channel, asks := route.Channel(o.Language)
	o.routes[channel.Key] = &asking{*route, asks}
	o.world.Channels = append(o.world.Channels, channel)
}

// checkSets adds a problem to routes whose ListenerSet belongs to a user, or to an older route.
func (o *pass) checkSets(ctx context.Context) error {
	slices.SortFunc(o.world.Channels, func(a, b plan.ObservedChannel) int {
		return cmp.Or(a.Created.Compare(b.Created), plan.CompareKeys(a.Key, b.Key))
	})
	first, made := map[types.NamespacedName]types.NamespacedName{}, o.setsByRoute()
	for i := range o.world.Channels {
		c := &o.world.Channels[i]
		r := o.routes[c.Key]
		if r.asks.ListenerSet == "" {
			continue
		}
		name := types.NamespacedName{Namespace: c.Key.Namespace, Name: r.asks.ListenerSet}
		var set gatewayv1.ListenerSet
		err := o.cache.Get(ctx, name, &set, client.UnsafeDisableDeepCopy)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		older, shared := first[name]
		switch {
		case err == nil && !read.IsMadeFor(&o.keys, &set, &r.Route):
			c.Problems = append(c.Problems, o.textNotMine(&set))
		case shared:
			c.Problems = append(c.Problems, textShared(name, older))
		default:
			first[name] = c.Key
			continue
		}
		r.asks.ListenerSet = made[c.Key] // the route keeps the ListenerSet that it has
	}
	return nil
}

// setsByRoute returns the names of the ListenerSets that the allocator made, by route. Of several, it is the first one.
func (o *pass) setsByRoute() map[types.NamespacedName]string {
	made := map[types.NamespacedName]string{}
	for _, set := range o.sets {
		route, _ := read.MadeFor(set)
		if _, has := made[route]; !has {
			made[route] = set.Name
		}
	}
	return made
}

// observeSets reads the ListenerSets on the Gateway. It sorts them: if several have one number, each pass must name the
// same one.
func (o *pass) observeSets(ctx context.Context) error {
	var list gatewayv1.ListenerSetList
	if err := o.cache.List(ctx, &list, client.MatchingFields{indexGateway: o.key.String()},
		client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listenersets of Gateway %s: %w", o.key, err)
	}
	for i := range list.Items {
		if set := &list.Items[i]; read.IsMade(&o.keys, set) {
			o.sets = append(o.sets, set)
		} else {
			o.others = append(o.others, set)
		}
	}
	byName := func(a, b *gatewayv1.ListenerSet) int {
		return plan.CompareKeys(client.ObjectKeyFromObject(a), client.ObjectKeyFromObject(b))
	}
	slices.SortFunc(o.sets, byName)
	slices.SortFunc(o.others, byName)
	return nil
}

// readMux reads the Gateway as a mux: its numbers, and the namespaces that it admits among those of its routes.
func (o *pass) readMux(ctx context.Context) error {
	members := map[string]labels.Set{}
	for i := range o.world.Channels {
		name := o.world.Channels[i].Key.Namespace
		if _, known := members[name]; known {
			continue
		}
		var namespace corev1.Namespace
		if err := o.cache.Get(ctx, types.NamespacedName{Name: name}, &namespace,
			client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
			return err
		}
		members[name] = namespace.Labels
	}
	o.world.Mux = read.Mux(o.Language, o.gateway, read.Numbers(&o.keys, o.gateway, slices.Concat(o.sets, o.others)),
		members)
	o.world.Mux.LedgerInForce = o.world.Mux.Ledger
	return nil
}

// observeLedger reads the ledger. A Gateway that was created again has no generation yet, so nothing tells whether the
// ledger is an old copy. As with a ledger of the original, package plan then also believes ListenerSets whose numbers
// the ledger lacks.
func (o *pass) observeLedger(ctx context.Context) error {
	mux := o.world.Mux
	entry, err := o.store.Read(ctx, record.AskOf(mux))
	if refusal.Is(err) {
		entry.Reading, err = plan.Reading{Condition: plan.Unreadable, Name: mux.Ledger, Why: textUnreadable(mux.Ledger, err)},
			nil
	}
	if err != nil {
		return err
	}
	o.entry, o.world.Ledger = entry, entry.Reading
	o.world.Records = map[string]types.NamespacedName{}
	for _, set := range o.sets {
		if route, is := read.MadeFor(set); is {
			o.world.Records[read.ClaimName(&o.keys, set)] = route
		}
	}
	return nil
}

// maxConfirmations bounds how often a pass decides again because a live read differs from the cache.
const maxConfirmations = 5

// decide makes the plan. While the plan asks to confirm objects, decide reads them live, and makes the plan again.
func (o *pass) decide(ctx context.Context) (*plan.Plan, error) {
	for range maxConfirmations {
		p := plan.Mux(o.world, o.known)
		if len(p.Confirm) == 0 {
			return p, nil
		}
		for _, key := range p.Confirm {
			if err := o.confirm(ctx, key); err != nil {
				return nil, err
			}
		}
	}
	return nil, behind("routes of Gateway " + o.key.String())
}

// confirmOwners reads live each route that has a ListenerSet on this Gateway but doesn't ask for a number here,
// according to the cache. If the ledger is lost, the plan has no claim for which it would ask to confirm the route.
func (o *pass) confirmOwners(ctx context.Context) error {
	for _, set := range o.sets {
		route, is := read.MadeFor(set)
		if !is || o.routes[route] != nil || o.world.Confirmed[route] {
			continue
		}
		if err := o.confirm(ctx, route); err != nil {
			return err
		}
	}
	return nil
}

// confirm reads the Gateway or a route live. If the Gateway differs from the cached one, the pass ends.
func (o *pass) confirm(ctx context.Context, key types.NamespacedName) error {
	if o.world.Confirmed == nil {
		o.world.Confirmed, o.world.Live = map[types.NamespacedName]bool{}, map[types.NamespacedName]plan.Liveness{}
	}
	o.world.Confirmed[key] = true
	if key == o.world.Key {
		var live gatewayv1.Gateway
		err := o.live.Get(ctx, o.key, &live)
		if apierrors.IsNotFound(err) || err == nil && (live.UID != o.gateway.UID || live.Generation != o.gateway.Generation) {
			return behind("Gateway " + o.key.String())
		}
		o.memory.met = o.memory.met || err == nil
		return err
	}
	kind, name, is := read.RouteNamed(key)
	if !is || !o.kinds.Has(kind) {
		o.world.Live[key] = plan.Present // an owner of this kind can't be read
		return nil
	}
	object := read.NewRoute(kind)
	err := o.live.Get(ctx, name, object)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s, before its number is released: %w", kind, name, err)
	}
	o.world.Channels = slices.DeleteFunc(o.world.Channels, func(c plan.ObservedChannel) bool { return c.Key == key })
	delete(o.routes, key)
	o.world.Live[key] = plan.Gone
	if route, is := read.RouteOf(object); err == nil && is && route.AsksForNumber(o.Language) {
		if _, asks := route.Channel(o.Language); asks.Gateway == o.key {
			o.add(&route)
			if err := o.readMux(ctx); err != nil { // it may be the only route of its namespace
				return err
			}
			return o.checkSets(ctx)
		}
	}
	return nil
}
