package services

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

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// Index adds the cache index that finds the channels of a mux.
func (l *Line) Index(ctx context.Context, m manager.Manager) error {
	return m.GetFieldIndexer().IndexField(ctx, &corev1.Service{}, indexMux, l.indexByMux)
}

// Spoken returns the muxes that this reconciler serves, sorted: those that exist, and those that channels name. The
// zero key stands for channels whose class names no mux.
func (l *Line) Spoken(ctx context.Context) ([]types.NamespacedName, error) {
	var list corev1.ServiceList
	if err := l.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	var muxes []types.NamespacedName
	for i := range list.Items {
		for _, mux := range l.muxesOf(&list.Items[i]) {
			if l.LooksAfter(mux) {
				muxes = append(muxes, mux)
			}
		}
	}
	slices.SortFunc(muxes, plan.CompareKeys)
	return slices.Compact(muxes), nil
}

// Drain makes one pass that removes everything of ours from a mux and its channels. It returns the plan that it carried
// out. An empty plan means that nothing is left to do. If only channels are left whose status can't be written, Drain
// returns an error.
func (l *Line) Drain(ctx context.Context, mux types.NamespacedName) (*plan.Plan, error) {
	memory := l.memory(mux)
	o, err := l.observe(ctx, mux, memory)
	if err != nil {
		return nil, err
	}
	p, err := o.decide(ctx, plan.Drain)
	if err != nil {
		return nil, err
	}
	if l.Print != nil {
		l.Print(p)
		return p, nil
	}
	defer memory.dropDue()
	if err := o.writeLedger(ctx, p.Reserve); err != nil {
		return nil, err
	}
	if stuck, _ := o.writeChannels(ctx, itsAddress, p.Hide); stuck > 0 {
		// The next pass leaves these channels their ports, and removes the ports of the others.
		for i := range p.Hide {
			if _, failed := memory.setbacks[write{itsAddress, p.Hide[i].Channel}]; failed {
				o.known.Stuck[p.Hide[i].Channel] = true
			}
		}
		return nil, o.notDrained()
	}
	_, err = o.publish(ctx, p)
	o.dropOld(ctx)
	if err != nil {
		return nil, err
	}
	if p.Empty() && !p.Again.IsZero() {
		return nil, o.notDrained()
	}
	return p, nil
}

// notDrained returns an error that names a channel that keeps its address and its ports, because its status can't be
// written.
func (o *pass) notDrained() error {
	stuck := slices.SortedFunc(maps.Keys(o.known.Stuck), plan.CompareKeys)
	stuck = slices.DeleteFunc(stuck, func(channel types.NamespacedName) bool { return o.channels[channel] == nil })
	return fmt.Errorf("mux %s: %d channel(s) keep their ports, such as %s, because their status can't be written: "+
		"it is tried again",
		o.world.Key, len(stuck), stuck[0])
}

// DrainStrays removes our fields from strays and from channels of unserved muxes. It returns how many Services it
// wrote. A Service that can't be written doesn't stop the others. DrainStrays makes no pause between writes: the caller
// waits between two calls.
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
		patch := outside{l}.outsidePatch(svc)
		if patch == nil {
			continue
		}
		wrote, err := outside{l}.writeOutside(ctx, svc, patch)
		failed = append(failed, err)
		if wrote {
			strays++
		}
	}
	return strays, errors.Join(failed...)
}
