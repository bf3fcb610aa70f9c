package services

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// Claimants are claimants of numbers that are no Services: listeners of Gateways.
type Claimants interface {
	// Knows is true once the claimants of a Gateway's mux are known.
	Knows(mux types.NamespacedName) bool
	// On returns the claimants on a mux.
	On(mux types.NamespacedName) []plan.ObservedChannel
	// Live returns a claimant as the API server has it; nil if it wants no number on the mux. It fails while the
	// claimant's state isn't known.
	Live(ctx context.Context, mux, claimant types.NamespacedName) (*plan.ObservedChannel, error)
	// Shown returns the listeners of a mux's Gateway with their conditions and routes, also those that ask for no number.
	Shown(mux types.NamespacedName) []claimants.Listener
	// Show takes the new conditions of a claimant on a mux.
	Show(mux types.NamespacedName, patch *plan.ChannelPatch)
}

// claimantsOn returns the claimants on a mux that are no Services. unknown is true until the mux's Gateway was read.
func (l *Line) claimantsOn(mux *corev1.Service) (all []plan.ObservedChannel, unknown bool) {
	if mux == nil {
		return nil, false
	}
	key := client.ObjectKeyFromObject(mux)
	unknown = isForGateway(mux) && (l.Claimants == nil || !l.Claimants.Knows(key))
	if l.Claimants != nil {
		all = l.Claimants.On(key)
	}
	return all, unknown
}

// observeClaimants adds the claimants that are no Services.
func (o *pass) observeClaimants(ctx context.Context) {
	var asking []plan.ObservedChannel
	asking, o.world.ListenersUnknown = o.claimantsOn(o.service)
	for _, channel := range asking {
		o.addChannel(ctx, channel)
	}
}

// confirmClaimant puts the live state of a claimant into the world. If that state isn't known, the pass fails for a
// cached claimant. Another claimant then counts as present, and keeps its ports.
func (o *pass) confirmClaimant(ctx context.Context, key types.NamespacedName, cached bool) error {
	if o.Claimants == nil {
		o.world.Live[key] = plan.Present
		return nil
	}
	live, err := o.Claimants.Live(ctx, o.world.Key, key)
	switch {
	case err != nil && cached:
		return fmt.Errorf("%s, before claims are written: %w", key, err)
	case err != nil:
		o.world.Live[key], o.unread = plan.Present, true
		return nil //nolint:nilerr // it counts as there, and the next pass asks again
	}
	o.world.Live[key] = plan.Gone
	if live != nil {
		o.addChannel(ctx, *live)
	}
	return nil
}
