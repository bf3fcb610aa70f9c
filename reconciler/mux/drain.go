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
	if l.Print != nil {
		p := plan.Drain(o.world)
		l.Print(p)
		return p, nil
	}
	defer memory.tried()
	p, err := l.reserveAll(ctx, o)
	if err != nil {
		return nil, err
	}
	if stuck, _ := l.hide(ctx, o, p); stuck > 0 {
		// The next pass leaves these their ports, and takes the others'.
		for i := range p.Hide {
			if _, failed := memory.stuck[p.Hide[i].Channel]; failed {
				o.passOver(p.Hide[i].Channel)
			}
		}
		return nil, o.passedOver()
	}
	_, err = l.publish(ctx, o, p)
	l.dropOld(ctx, o)
	if err != nil {
		return nil, err
	}
	if p.Empty() && !p.Again.IsZero() {
		return nil, o.passedOver()
	}
	return p, nil
}

// reserveAll has the ledger say who has what before any port goes. A channel that changes all the time doesn't keep the others of
// its mux waiting: it keeps its address and its ports, and is for another pass.
func (l *Line) reserveAll(ctx context.Context, o *observed) (*plan.Plan, error) {
	for tries := 1; ; tries++ {
		p := plan.Drain(o.world)
		err := l.reserve(ctx, o, p)
		var changed *unsteady
		switch {
		case !errors.As(err, &changed) || tries > mostTries:
			return p, err
		case tries < mostTries:
			o.passOver(changed.channels...)
		default:
			o.passOver(changed.losing...)
		}
	}
}

// passOver has channels be passed over: they keep their address, and with it their ports.
func (o *observed) passOver(channels ...types.NamespacedName) {
	for _, channel := range channels {
		o.world.Stuck[channel] = true
	}
}

// passedOver says of whom there is something left.
func (o *observed) passedOver() error {
	over := slices.SortedFunc(maps.Keys(o.world.Stuck), plan.CompareKeys)
	over = slices.DeleteFunc(over, func(channel types.NamespacedName) bool { return o.channels[channel] == nil })
	return fmt.Errorf("mux %s: %d channel(s) can't be made bare yet, and keep their ports, such as %s: "+
		"they change all the time, or their status can't be written", o.world.Key, len(over), over[0])
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
