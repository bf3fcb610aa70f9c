package mux

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Claimants are claimants of numbers that are no Services: listeners of Gateways.
type Claimants interface {
	// Knows is true once the claimants of a Gateway's mux are known.
	Knows(mux types.NamespacedName) bool
	// On returns those of a mux.
	On(mux types.NamespacedName) []plan.ObservedChannel
	// Live returns a claimant as the API server has it; nil if it wants no number on the mux. It fails while that isn't known.
	Live(ctx context.Context, mux, claimant types.NamespacedName) (*plan.ObservedChannel, error)
	// Show takes the new conditions of a claimant on a mux.
	Show(mux types.NamespacedName, patch *plan.ChannelPatch)
}

// observeClaimants adds the claimants that are no Services.
func (o *pass) observeClaimants(ctx context.Context) {
	o.world.ListenersUnknown = o.service != nil && isForGateway(o.service) && (o.Claimants == nil || !o.Claimants.Knows(o.world.Key))
	if o.Claimants == nil || o.world.Mux == nil {
		return
	}
	for _, channel := range o.Claimants.On(o.world.Key) {
		o.addChannel(ctx, channel)
	}
}

// confirmClaimant replaces a claimant in the world by its live state. One that isn't known keeps its ports.
func (o *pass) confirmClaimant(ctx context.Context, key types.NamespacedName) error {
	cached := slices.ContainsFunc(o.world.Channels, func(c plan.ObservedChannel) bool { return c.Key == key })
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
	o.world.Channels = slices.DeleteFunc(o.world.Channels, func(c plan.ObservedChannel) bool { return c.Key == key })
	if live != nil {
		o.addChannel(ctx, *live)
	}
	o.known.Refused = o.memory.refusals(&o.world)
	return nil
}
