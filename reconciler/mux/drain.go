package mux

import (
	"context"
	"fmt"
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
// there is an error. Once it is empty, frozen or not, and needn't be made again, there is nothing more to do.
func (l *Line) Drain(ctx context.Context, mux types.NamespacedName) (*plan.Plan, error) {
	memory := l.memory(mux)
	o, err := l.observe(ctx, mux, memory)
	if err != nil {
		return nil, err
	}
	p := plan.Drain(o.world)
	if l.Print != nil {
		l.Print(p)
		return p, nil
	}
	defer memory.tried()
	if err := l.reserve(ctx, o, p); err != nil {
		return nil, err
	}
	if stuck, _ := l.hide(ctx, o, p); stuck > 0 {
		// The next pass leaves these their ports, and takes the others'.
		return nil, fmt.Errorf("the address of %d channel(s) of mux %s can't be taken off yet", stuck, mux)
	}
	if _, err := l.publish(ctx, o, p); err != nil {
		return nil, err
	}
	return p, nil
}

// DrainStrays takes what is ours off Services that were channels once, or are channels of muxes that aren't looked after. It
// returns how many there were.
func (l *Line) DrainStrays(ctx context.Context) (int, error) {
	var list corev1.ServiceList
	if err := l.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("list Services: %w", err)
	}
	strays := 0
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		svc := l.services.Latest(key, &list.Items[i])
		if svc == nil {
			continue
		}
		patch := l.asideFrom(svc)
		if patch == nil {
			continue
		}
		strays++
		if _, err := l.patchAside(ctx, svc, patch); err != nil {
			return strays, err
		}
	}
	return strays, nil
}
