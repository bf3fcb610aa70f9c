package services

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// pass is one pass over a mux: the world and the memory of its decision, and the objects that they were made from.
type pass struct {
	*Line
	world    plan.World
	known    plan.Memory
	service  *corev1.Service // the mux; nil if it doesn't exist
	channels map[types.NamespacedName]*corev1.Service
	memory   *memory
	entry    ledger.Entry
	// took is how long the decision took. done is true once the whole plan is carried out.
	took time.Duration
	done bool
	// unread is true if a channel that isn't in the cache couldn't be read live.
	unread bool
}

// observe gathers all that a decision about a mux needs. The decision makes no requests.
func (l *Line) observe(ctx context.Context, mux types.NamespacedName, m *memory) (*pass, error) {
	now := l.Now()
	m.setbacks.markDue(now)
	o := &pass{
		Line:     l,
		world:    plan.World{Now: now, Keys: l.Language.Keys(), Key: mux, RebuildFrom: l.rebuildFrom(), Unmet: !m.met},
		channels: map[types.NamespacedName]*corev1.Service{},
		memory:   m,
	}
	if err := o.observeMux(ctx); err != nil {
		return nil, err
	}
	if err := o.observeChannels(ctx); err != nil {
		return nil, err
	}
	o.known = plan.Memory{
		Refused: m.refusals(&o.world), Stuck: m.setbacks.paused(itsAddress, now), LimitedUntil: m.spending.Limited(now),
		Blocked: m.blocked.active(now), Frozen: m.frozenBy(),
	}
	if o.world.Mux == nil {
		return o, nil
	}
	err := o.observeLedger(ctx)
	return o, err
}

// observeLedger reads the ledger and, if it may be lost, the records in our slices.
func (o *pass) observeLedger(ctx context.Context) error {
	mux := o.world.Mux
	entry, err := o.Ledgers.Read(ctx, record.AskOf(mux))
	if refusal.Is(err) {
		entry.Reading, err = plan.Reading{Condition: plan.Unreadable, Name: mux.Ledger, Why: textUnreadable(mux, err)}, nil
	}
	if err != nil {
		return err
	}
	o.entry, o.world.Ledger, o.known.LastGood = entry, entry.Reading, o.Board.LastGood(mux.Key)
	if entry.Condition != plan.Good || len(entry.Ledger.Claims) == 0 || entry.Ledger.Generation < mux.Generation {
		o.world.Records, err = o.records(ctx, mux.Key)
	}
	return err
}

func (l *Line) rebuildFrom() time.Time {
	if l.RebuildFrom == nil {
		return time.Time{}
	}
	return l.RebuildFrom()
}

func (o *pass) observeMux(ctx context.Context) error {
	svc, err := o.Service(ctx, o.world.Key)
	if err != nil || svc == nil || !o.isMux(svc) {
		return err
	}
	o.service = svc
	o.world.Mux = plan.ReadMux(o.Language, svc, declaresPlaceholder(svc))
	return nil
}

// isMux is true for a mux, even with problems. A Service of another type has no load balancer to share.
func (l *Line) isMux(svc *corev1.Service) bool {
	return l.Language.Classify(svc).Mux() && svc.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// Service returns the newest known state of a Service; nil if it doesn't exist. Callers must not change it: it belongs
// to the cache.
func (l *Line) Service(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	written := l.services.Before()
	shown, err := l.shown(ctx, key)
	if err != nil {
		return nil, err
	}
	return written.Latest(key, shown), nil
}

// shown returns a Service as the cache shows it; nil if it doesn't.
func (l *Line) shown(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	var svc corev1.Service
	err := l.Cache.Get(ctx, key, &svc, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("service %s: %w", key, err)
	}
	return &svc, nil
}

// catchUp reads Services live whose writes the cache should have shown by now. The cache is behind, or its watch was
// broken while they were deleted. catchUp returns whether there were such Services.
func (l *Line) catchUp(ctx context.Context) (bool, error) {
	overdue := l.services.Overdue()
	for _, late := range overdue {
		var live corev1.Service
		key := client.ObjectKeyFromObject(late)
		err := l.Live.Get(ctx, key, &live)
		gone := apierrors.IsNotFound(err)
		switch {
		case gone:
		case err != nil:
			return true, fmt.Errorf("service %s, which the cache is behind of: %w", key, err)
		default:
			l.trim(&live)
			l.services.Renew(&live, false)
		}
		shown, err := l.shown(ctx, key)
		switch {
		case err != nil:
			return true, err
		case gone && shown == nil:
			l.services.Forget(key)
		case gone:
			l.services.Renew(late, true)
		default:
			l.services.Latest(key, shown) // drops the write if the cache shows it: the event came before the response
		}
	}
	return len(overdue) > 0, nil
}

func (o *pass) observeChannels(ctx context.Context) error {
	var list corev1.ServiceList
	written := o.services.Before()
	if err := o.Cache.List(ctx, &list, client.MatchingFields{indexMux: o.world.Key.String()},
		client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("channels of mux %s: %w", o.world.Key, err)
	}
	for i := range list.Items {
		o.observeChannel(ctx, written.Latest(client.ObjectKeyFromObject(&list.Items[i]), &list.Items[i]))
	}
	for _, key := range written.Keys() { // written or read live, but maybe not in the cache yet: its watch may hang
		if o.channels[key] == nil && o.world.Key != noMux {
			shown, err := o.shown(ctx, key)
			if err != nil {
				return err
			}
			o.observeChannel(ctx, written.Latest(key, shown))
		}
	}
	o.observeClaimants(ctx)
	return nil
}

// observeChannel adds a Service if it is a channel of the mux. It may have changed since it was listed.
func (o *pass) observeChannel(ctx context.Context, svc *corev1.Service) {
	if svc == nil {
		return
	}
	channel, names := o.channel(svc, o.memory)
	if !names || channel.Mux != o.world.Key && o.world.Key != noMux {
		return
	}
	o.channels[channel.Key] = svc
	o.addChannel(ctx, channel)
}

// channel parses a channel, or returns the result of the last time if its resource version is the same.
func (l *Line) channel(svc *corev1.Service, m *memory) (plan.ObservedChannel, bool) {
	key := client.ObjectKeyFromObject(svc)
	if !l.Language.Classify(svc).Channel() {
		return plan.ObservedChannel{}, false
	}
	last, known := m.read[key]
	if known && last.version == svc.ResourceVersion && last.channel.UID == svc.UID {
		return last.channel, true
	}
	channel := plan.ReadChannel(l.Language, svc)
	m.read[key] = reading{svc.ResourceVersion, channel}
	return channel, true
}

// addChannel adds a channel or a listener to the world, with what the backends line reports of it.
func (o *pass) addChannel(ctx context.Context, channel plan.ObservedChannel) {
	if o.world.Mux != nil && o.Backing != nil {
		channel.Backends, channel.RefusedSlices = o.Backing(channel.Key, o.world.Mux.UID)
		if o.Excess != nil {
			channel.Excess = o.Excess(channel.Key, o.world.Mux.UID)
		}
		if channel.Backends == plan.Unknown && len(channel.Conditions) == 0 && o.hasNoReadyEndpoint(ctx, channel.Key) {
			channel.Backends = plan.Unbacked
		}
	}
	o.world.Channels = append(o.world.Channels, channel)
}

// hasNoReadyEndpoint is true for a channel that certainly has no backends. The backends line may not have seen a new
// channel yet, and to wait for its report would cost a second write of the channel's status.
func (l *Line) hasNoReadyEndpoint(ctx context.Context, channel types.NamespacedName) bool {
	sources, err := l.Sources(ctx, l.Cache, channel)
	return err == nil && project.BackingOf(sources, nil, nil) == plan.Unbacked
}

// records returns the channels that our slices carry, by port name on the mux.
func (l *Line) records(ctx context.Context, mux types.NamespacedName) (map[string]types.NamespacedName, error) {
	onMux, err := l.OnMux(ctx, l.Cache, mux)
	if err != nil {
		return nil, fmt.Errorf("slices of mux %s: %w", mux, err)
	}
	return project.RecordsOf(l.Language.Keys(), onMux), nil
}
