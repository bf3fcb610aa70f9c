package mux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Index has a manager's cache find the channels of a mux. Setup does it, too.
func (l *Line) Index(ctx context.Context, m manager.Manager) error {
	return m.GetFieldIndexer().IndexField(ctx, &corev1.Service{}, indexMux, l.indexByMux)
}

// Spoken are the muxes that Services speak of, sorted: those that are there, and those that channels name. The zero one
// is for channels whose class names none.
func (l *Line) Spoken(ctx context.Context) ([]types.NamespacedName, error) {
	var list corev1.ServiceList
	if err := l.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	var muxes []types.NamespacedName
	add := func(mux types.NamespacedName) {
		if l.LooksAfter(mux) {
			muxes = append(muxes, mux)
		}
	}
	for i := range list.Items {
		svc := &list.Items[i]
		kind := l.Language.Classify(svc)
		if kind.Channel() {
			add(l.muxOf(svc))
		}
		if kind.Mux() {
			add(client.ObjectKeyFromObject(svc))
		}
	}
	slices.SortFunc(muxes, plan.CompareKeys)
	return slices.Compact(muxes), nil
}

// Drain is one pass that takes everything of ours off a mux and its channels. The plan it returns was carried out unless
// there is an error. Once it is empty, frozen or not, there is nothing more to do: while a channel is left as it is and there is
// nothing else to take, that is an error.
func (l *Line) Drain(ctx context.Context, mux types.NamespacedName) (*plan.Plan, error) {
	memory := l.memory(mux)
	o, err := l.observe(ctx, mux, memory)
	if err != nil {
		return nil, err
	}
	p, err := l.decide(ctx, o, plan.Drain)
	if err != nil {
		return nil, err
	}
	if l.Print != nil {
		l.Print(p)
		return p, nil
	}
	defer memory.tried()
	if err := l.writeLedger(ctx, o, p.Reserve); err != nil {
		return nil, err
	}
	if stuck, _ := l.hide(ctx, o, p); stuck > 0 {
		// The next pass leaves these channels their ports, and takes the others'.
		for i := range p.Hide {
			if _, failed := memory.stuck[p.Hide[i].Channel]; failed {
				o.known.Stuck[p.Hide[i].Channel] = true
			}
		}
		return nil, o.notDrained()
	}
	_, err = l.publish(ctx, o, p)
	l.dropOld(ctx, o)
	if err != nil {
		return nil, err
	}
	if p.Empty() && !p.Again.IsZero() {
		return nil, o.notDrained()
	}
	return p, nil
}

// notDrained says which channels keep their address and their ports, because their status can't be written.
func (o *observed) notDrained() error {
	left := slices.SortedFunc(maps.Keys(o.known.Stuck), plan.CompareKeys)
	left = slices.DeleteFunc(left, func(channel types.NamespacedName) bool { return o.channels[channel] == nil })
	return fmt.Errorf("mux %s: %d channel(s) keep their ports, such as %s, because their status can't be written: it is tried again",
		o.world.Key, len(left), left[0])
}

// DrainStrays takes what is ours off Services that were channels once, or are channels of muxes that aren't looked after. It
// returns how many it wrote. One that can't be written doesn't keep it from the rest. Whoever calls it has a pace and an end of
// their own, so nobody waits for a turn.
func (l *Line) DrainStrays(ctx context.Context) (int, error) {
	var list corev1.ServiceList
	if err := l.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("list Services: %w", err)
	}
	strays := 0
	var failed []error
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		svc := l.services.Latest(key, &list.Items[i])
		if svc == nil || ctx.Err() != nil {
			continue
		}
		patch := l.asideFrom(svc)
		if patch == nil {
			continue
		}
		wrote, err := l.writeAside(ctx, svc, patch)
		failed = append(failed, err)
		if wrote {
			strays++
		}
	}
	return strays, errors.Join(failed...)
}
