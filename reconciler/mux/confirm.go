package mux

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// confirm reads live what a ledger is about to be written from, where a cache that is behind would do harm that the next
// pass can't undo: a number that was given or let go may be another's by then.
//
//	a ledger is written        only the mux says which numbers are in use, whoever put them there
//	a channel loses a port     the channel may ask for it again, or show an address by now
//
// Channels that the cache doesn't show were looked for before it was decided. Whatever else is written from an old cache is
// refused for its resource version, or put right. Of channels that aren't as they were, the error is unsteady.
func (l *Line) confirm(ctx context.Context, o *observed, p *plan.Plan) error {
	losing := losers(o, p)
	if o.service == nil || p.Reserve == nil && p.Settle == nil && len(losing) == 0 {
		return nil
	}
	if _, err := l.isSo(ctx, o.world.Key, o.service); err != nil {
		return err
	}
	changed := &unsteady{losing: losing, live: map[types.NamespacedName]*corev1.Service{}}
	for _, channel := range losing {
		switch live, err := l.isSo(ctx, channel, o.channels[channel]); {
		case errors.Is(err, errBehind):
			changed.channels = append(changed.channels, channel)
			changed.live[channel] = live
		case err != nil:
			return err
		}
	}
	if len(changed.channels) > 0 {
		return changed
	}
	return nil
}

// unsteady are channels that aren't as they were when it was decided about them.
type unsteady struct {
	channels []types.NamespacedName
	live     map[types.NamespacedName]*corev1.Service // as they are; nil if they aren't there
	losing   []types.NamespacedName                   // all that were to lose something
}

func (u *unsteady) Error() string { return fmt.Sprintf("services %v: %v", u.channels, errBehind) }

func (u *unsteady) Unwrap() error { return errBehind }

// leaveOut has channels be as if the cache didn't show them yet: they keep what they have, and what they are about to lose, since
// they may show the address.
func (o *observed) leaveOut(channels []types.NamespacedName) {
	for _, channel := range channels {
		o.left = append(o.left, channel)
		delete(o.channels, channel)
		delete(o.world.Unpublished, channel) // there is no telling which of these were on the mux once
		o.world.Stuck[channel] = true
	}
	o.world.Channels = slices.DeleteFunc(o.world.Channels, func(c plan.ObservedChannel) bool { return slices.Contains(channels, c.Key) })
	o.world.Live = nil
}

// rebuilt is true if nothing but mux, slices and channels tells who has what: then a channel that is left out would lose it.
func (o *observed) rebuilt() bool {
	return o.world.Ledger.Condition != plan.Good || len(o.world.Ledger.Ledger.Claims) == 0
}

// takeLive has channels be as the API server shows them.
func (l *Line) takeLive(ctx context.Context, o *observed, changed *unsteady) {
	for _, key := range changed.channels {
		at := slices.IndexFunc(o.world.Channels, func(c plan.ObservedChannel) bool { return c.Key == key })
		live := changed.live[key]
		if live == nil || at < 0 {
			o.leaveOut([]types.NamespacedName{key})
			continue
		}
		channel, is := l.channel(live, o.memory)
		if !is || channel.Mux != o.world.Key {
			o.leaveOut([]types.NamespacedName{key})
			continue
		}
		channel.Backends = o.memory.settleBacking(key, l.backing(ctx, &channel, o.world.Mux, o.service), o.world.Now)
		channel.RefusedSlices = l.refusedSlices(key)
		o.world.Channels[at], o.channels[key] = channel, live
	}
}

// losers are the channels that the cache shows, and that are to lose a claim, or its port on the mux, sorted.
func losers(o *observed, p *plan.Plan) []types.NamespacedName {
	had := o.world.Ledger.Ledger.Claims
	lost := leaving(o.service, p.Publish, had)
	for _, write := range [...]*plan.LedgerWrite{p.Reserve, p.Settle} {
		if write != nil {
			lost = append(lost, letGo(had, write.Ledger.Claims)...)
			lost = append(lost, leaving(o.service, p.Publish, write.Ledger.Claims)...)
		}
	}
	lost = slices.DeleteFunc(lost, func(channel types.NamespacedName) bool { return o.channels[channel] == nil })
	slices.SortFunc(lost, plan.CompareKeys)
	return slices.Compact(lost)
}

// letGo are the owners of claims that are no longer in force, or that only the mux told of, and that won't be.
func letGo(had, has []plan.Claim) []types.NamespacedName {
	type number struct {
		owner  plan.PortID
		public int32
	}
	was, stays := make(map[number]bool, len(had)), make(map[number]bool, len(has))
	for i := range had {
		was[number{had[i].Owner, had[i].Public}] = true
	}
	var owners []types.NamespacedName
	for i := range has {
		at := number{has[i].Owner, has[i].Public}
		stays[at] = has[i].State == plan.Held
		if has[i].State == plan.Releasing && !was[at] {
			owners = append(owners, has[i].Owner.Channel)
		}
	}
	for i := range had {
		if had[i].State == plan.Held && !stays[number{had[i].Owner, had[i].Public}] {
			owners = append(owners, had[i].Owner.Channel)
		}
	}
	return owners
}

// leaving are the owners of ports that go off the mux, though the claim may stay: their channels are disabled then.
func leaving(mux *corev1.Service, publish *plan.MuxPatch, claims []plan.Claim) []types.NamespacedName {
	if mux == nil || publish == nil || publish.Ports == nil {
		return nil
	}
	type port struct {
		name   string
		number int32
	}
	going := make(map[port]bool, len(mux.Spec.Ports))
	for i := range mux.Spec.Ports {
		going[port{mux.Spec.Ports[i].Name, mux.Spec.Ports[i].Port}] = true
	}
	for i := range publish.Ports {
		delete(going, port{publish.Ports[i].Name, publish.Ports[i].Port})
	}
	var owners []types.NamespacedName
	for i := range claims {
		if going[port{claims[i].MuxName, claims[i].Public}] {
			owners = append(owners, claims[i].Owner.Channel)
		}
	}
	return owners
}

// isSo has no error if a Service asks for, and shows, the same as where it was decided from: an address that the cache doesn't show
// couldn't be taken off before the ports go. It returns the Service as it is, nil if it isn't there.
func (l *Line) isSo(ctx context.Context, key types.NamespacedName, seen *corev1.Service) (*corev1.Service, error) {
	var live corev1.Service
	switch err := l.Live.Get(ctx, key, &live); {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("service %s: %w", key, errBehind)
	case err != nil:
		return nil, fmt.Errorf("service %s, before claims are written: %w", key, err)
	}
	l.trim(&live)
	shows := equality.Semantic.DeepEqual(live.Status.LoadBalancer, seen.Status.LoadBalancer)
	if keys := l.Language.Keys(); !shows || essence(&live, keys) != essence(seen, keys) {
		return &live, fmt.Errorf("service %s: %w", key, errBehind)
	}
	return &live, nil
}
