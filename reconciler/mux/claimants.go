package mux

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/claimants"
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
	// Users returns the claimants that send packets to a Service.
	Users(service types.NamespacedName) []claimants.Use
	// Shown returns the listeners of a mux's Gateway with their conditions and routes, also those that ask for no number.
	Shown(mux types.NamespacedName) []claimants.Listener
	// Show takes the new conditions of a claimant on a mux.
	Show(mux types.NamespacedName, patch *plan.ChannelPatch)
}

// claimantsOn returns the claimants on a mux that are no Services. They are unknown until the mux's Gateway was read.
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
		channel.Backends = o.memory.cachedBacking(channel.Key, func() plan.Backing { return o.backing(ctx, &channel, o.world.Mux, o.service) })
		channel.Backends = o.memory.settleBacking(channel.Key, channel.Backends, o.world.Now)
		channel.RefusedSlices = o.refusedSlices(channel.Key)
		o.world.Channels = append(o.world.Channels, channel)
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
		live.Backends = o.memory.settleBacking(key, o.backing(ctx, live, o.world.Mux, o.service), o.world.Now)
		live.RefusedSlices = o.refusedSlices(key)
		o.world.Channels = append(o.world.Channels, *live)
	}
	o.known.Refused = o.memory.refusals(&o.world)
	return nil
}

// wakeUsers wakes the muxes of claimants that send packets to a Service.
func (w watching) wakeUsers(q queue, service types.NamespacedName) {
	if w.Claimants == nil {
		return
	}
	for _, use := range w.Claimants.Users(service) {
		if w.LooksAfter(use.Mux) {
			w.memory(use.Mux).edge(use.Claimant)
			w.wake(q, use.Mux)
		}
	}
}

// ClaimantsChanged wakes a mux after its claimants changed.
func (l *Line) ClaimantsChanged(mux types.NamespacedName) {
	l.BackendsChanged(types.NamespacedName{}, mux)
}
