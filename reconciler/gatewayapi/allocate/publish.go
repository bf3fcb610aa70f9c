package allocate

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// apply carries a plan out in its order: ledger, Gateway, ListenerSets, ledger, routes. It ends at the first write that
// fails, and the next pass goes on from there. A plan hides no address of a route: routes have none.
func (o *pass) apply(ctx context.Context, p *plan.Plan) error {
	if !o.trial(p) {
		o.tellStanding(p)
	}
	if err := o.writeLedger(ctx, p.Reserve); err != nil {
		return o.block(err)
	}
	o.memory.spending.Spend(p.Changed, o.world.Now)
	if p.Freeze == nil && o.world.Mux != nil {
		if err := o.stamp(ctx, p.Publish); err != nil {
			return o.block(err)
		}
		if err := o.publish(ctx, p); err != nil {
			return err
		}
		if o.again {
			return nil // the next plan leaves out the refused ListenerSets
		}
	}
	if err := o.writeLedger(ctx, p.Settle); err != nil {
		return o.block(err)
	}
	o.unblock(p)
	return o.show(ctx, p.Show)
}

func (o *pass) writeLedger(ctx context.Context, write *plan.LedgerWrite) error {
	if write == nil {
		return nil
	}
	entry, err := o.store.Write(ctx, write.Ledger, o.entry)
	if err != nil {
		return err
	}
	o.entry, o.world.Ledger = entry, entry.Reading
	return nil
}

// stamp writes the ledger's generation on the Gateway, as on a mux. A ledger of an earlier generation is an old copy.
func (o *pass) stamp(ctx context.Context, publish *plan.MuxPatch) error {
	if publish == nil || publish.Annotations[o.keys.Generation] == "" {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.gateway.UID, "annotations": map[string]any{o.keys.Generation: publish.Annotations[o.keys.Generation]},
	}})
	if err != nil {
		return err
	}
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: o.key.Namespace, Name: o.key.Name}}
	if err = o.write.Patch(ctx, gateway, client.RawPatch(types.MergePatchType, body)); apierrors.IsNotFound(err) {
		return behind("Gateway " + o.key.String())
	}
	return err
}

// publish deletes the ListenerSets of numbers that are released, then makes and corrects those of numbers in force.
func (o *pass) publish(ctx context.Context, p *plan.Plan) error {
	wanted := o.wanted(p)
	var stale []*gatewayv1.ListenerSet
	for _, set := range o.sets {
		route, _ := read.MadeFor(set)
		if claim := wanted[set.Annotations[o.keys.PortName]]; claim == nil || claim.Owner.Channel != route ||
			o.routes[route].asks.ListenerSet != set.Name {
			stale = append(stale, set)
		}
	}
	if err := run.InParallel(o.WritesAtOnce, stale,
		func(set *gatewayv1.ListenerSet) error { return o.drop(ctx, set) }); err != nil {
		return err
	}
	claims := slices.SortedFunc(maps.Values(wanted), func(a, b *plan.Claim) int {
		return plan.CompareKeys(a.Owner.Channel, b.Owner.Channel)
	})
	return run.InParallel(o.WritesAtOnce, claims, func(claim *plan.Claim) error {
		route := o.routes[claim.Owner.Channel]
		want := read.ListenerSet(&o.keys, &route.Route, route.asks.ListenerSet, o.key, claim)
		if err := o.put(ctx, want, route); err != nil {
			return o.refuse(claim, err)
		}
		return nil
	})
}

// wanted returns the claims that have a ListenerSet once the plan is carried out, by name. A claim whose route isn't
// observed, or names no ListenerSet, has none.
func (o *pass) wanted(p *plan.Plan) map[string]*plan.Claim {
	published := map[string]bool{}
	ports := o.world.Mux.Ports
	if p.Publish != nil && p.Publish.Ports != nil {
		ports = p.Publish.Ports
	}
	for i := range ports {
		published[ports[i].Name] = true
	}
	wanted := map[string]*plan.Claim{}
	for i := range p.InForce {
		claim := &p.InForce[i]
		if route := o.routes[claim.Owner.Channel]; published[claim.MuxName] && route != nil && route.asks.ListenerSet != "" {
			wanted[claim.MuxName] = claim
		}
	}
	return wanted
}

// drop deletes a ListenerSet.
func (o *pass) drop(ctx context.Context, set *gatewayv1.ListenerSet) error {
	err := o.write.Delete(ctx,
		&gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}},
		client.Preconditions{UID: &set.UID, ResourceVersion: &set.ResourceVersion})
	if route, _ := read.MadeFor(set); err == nil {
		o.memory.paces.Forget(route)
	}
	return client.IgnoreNotFound(err)
}

// put creates or corrects a ListenerSet. If another writer undoes its corrections, each one waits longer.
func (o *pass) put(ctx context.Context, want *gatewayv1.ListenerSet, route *asking) error {
	key := client.ObjectKeyFromObject(want)
	var is gatewayv1.ListenerSet
	err := o.cache.Get(ctx, key, &is)
	missing := apierrors.IsNotFound(err)
	switch {
	case missing:
	case err != nil:
		return err
	case !read.IsMadeFor(&o.keys, &is, &route.Route): // the next pass sees this in the cache, and tells the route
		return behind("ListenerSet " + key.String())
	case read.Same(&o.keys, &is, want):
		return nil
	}
	turn := o.memory.paces.Ask(route.Key(), pace.ContentOf(want.Name, want.Spec, want.OwnerReferences, want.Annotations),
		o.Now())
	if turn.Wait > 0 {
		o.putOff(turn.Wait)
		return nil
	}
	if missing {
		err = o.write.Create(ctx, want)
	} else {
		err = o.write.Update(ctx, read.Corrected(&is, want))
	}
	switch {
	case err != nil:
		o.memory.paces.Failed(route.Key())
	case turn.First:
		o.tell(plan.Event{Object: route.Key(), Reason: plan.MuxDriftCorrected,
			Message: plan.TextPutRight([]string{"ListenerSet " + want.Name})})
	}
	return err
}

// putOff makes another pass due after a while.
func (o *pass) putOff(wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at := o.Now().Add(wait); o.due.IsZero() || at.Before(o.due) {
		o.due = at
	}
}

// refuse notes that the API server refuses a route's ListenerSet. The next plan tells the route, and goes on without
// the ListenerSet.
func (o *pass) refuse(claim *plan.Claim, err error) error {
	if !refusal.Is(err) {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := claim.Owner.Channel
	_, again := o.known.Refused[key]
	o.memory.refused[key] = refusedSet{
		plan.PatchRefusal{Words: refusal.Words(err), Slots: []plan.Slot{claim.Slot()}, Withheld: again},
		o.memory.refused[key].next(o.Now(), longestPause),
	}
	o.again = true
	return nil
}

// behind is the error of a pass whose cache is behind.
func behind(what string) error {
	return apierrors.NewConflict(gatewayv1.Resource("gateways"), what, errors.New("the cache is behind"))
}
