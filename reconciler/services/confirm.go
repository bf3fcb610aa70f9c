package services

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// maxConfirmations bounds how often a pass decides again because a live read differs from the cache.
const maxConfirmations = 5

// decide makes the plan. While the plan asks to confirm Services, decide reads them live and decides again.
func (o *pass) decide(ctx context.Context, decide func(plan.World, plan.Memory) *plan.Plan) (*plan.Plan, error) {
	start := o.Now()
	for range maxConfirmations {
		p := o.plan(decide)
		if len(p.Confirm) == 0 {
			o.took = o.Now().Sub(start)
			return p, nil
		}
		if err := o.confirm(ctx, p.Confirm); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("channels of mux %s change too often: %w", o.world.Key, errBehind)
}

// plan waits for a turn of the mux's namespace, and decides.
func (o *pass) plan(decide func(plan.World, plan.Memory) *plan.Plan) *plan.Plan {
	defer o.turns.Take(o.world.Key.Namespace)()
	return decide(o.world, o.known)
}

// confirm reads Services live and puts them into the world. If the mux isn't as the cache shows it, the pass fails. A
// channel that isn't in the cache and can't be read counts as present, so it keeps its ports. If a cached channel can't
// be read, the pass fails: nothing can be decided about its ports.
func (o *pass) confirm(ctx context.Context, keys []types.NamespacedName) error {
	if o.world.Confirmed == nil {
		o.world.Confirmed, o.world.Live = map[types.NamespacedName]bool{}, map[types.NamespacedName]plan.Liveness{}
	}
	live, failed := make([]*corev1.Service, len(keys)), make([]error, len(keys))
	o.inParallel(len(keys), func(i int) {
		if claimants.IsService(keys[i]) {
			live[i], failed[i] = o.readLive(ctx, keys[i])
		}
	})
	cached := takeOut(&o.world, keys)
	for i, key := range keys {
		switch {
		case !claimants.IsService(key):
			if err := o.confirmClaimant(ctx, key, cached.Has(key)); err != nil {
				return err
			}
		case failed[i] != nil && (cached.Has(key) || key == o.world.Key):
			return fmt.Errorf("service %s, before claims are written: %w", key, failed[i])
		case failed[i] != nil:
			o.world.Live[key], o.unread = plan.Present, true
		case key == o.world.Key:
			o.memory.met = true
			if live[i] == nil {
				o.services.Delete(o.service) // from now on passes see no mux, or the one that was created again
				return fmt.Errorf("mux %s is gone: %w", key, errBehind)
			}
			o.services.Put(live[i])
			if live[i].ResourceVersion != o.service.ResourceVersion { // the mux may name another ledger by now
				return fmt.Errorf("mux %s: %w", key, errBehind)
			}
		default:
			o.confirmChannel(ctx, key, live[i])
		}
		o.world.Confirmed[key] = true
	}
	o.known.Refused = o.memory.refusals(&o.world)
	return nil
}

// takeOut removes channels and listeners from a world, and returns those that were in it. It needs only one scan: there
// may be thousands.
func takeOut(w *plan.World, keys []types.NamespacedName) sets.Set[types.NamespacedName] {
	asked, found := sets.New(keys...), sets.Set[types.NamespacedName]{}
	w.Channels = slices.DeleteFunc(w.Channels, func(c plan.ObservedChannel) bool {
		if asked.Has(c.Key) {
			found.Insert(c.Key)
		}
		return asked.Has(c.Key)
	})
	return found
}

// confirmChannel puts the live state of a channel into the world. The next passes begin with that state, until the
// cache is as new.
func (o *pass) confirmChannel(ctx context.Context, key types.NamespacedName, live *corev1.Service) {
	switch cached := o.channels[key]; {
	case live != nil:
		o.services.Put(live)
	case cached != nil:
		o.services.Delete(cached)
	}
	delete(o.channels, key)
	o.world.Live[key] = plan.Gone
	if live == nil || live.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	channel, is := o.channel(live, o.memory)
	if !is || channel.Mux != o.world.Key {
		return
	}
	o.addChannel(ctx, channel)
	o.channels[key] = live
}

// readLive returns a Service from the API server; nil if it doesn't exist.
func (l *Line) readLive(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	var svc corev1.Service
	err := l.Live.Get(ctx, key, &svc)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l.trim(&svc)
	return &svc, nil
}
