package mux

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
	"nowake.ai/svc-lb-mux/validation"
)

// Sight is a mux as this process sees it, and the plan for it. Callers must not change the slices: they belong to the
// cache.
type Sight struct {
	World plan.World
	Known plan.Memory
	Plan  *plan.Plan
	// Sources are the slices of each channel. Carried are our slices on the mux, by channel.
	Sources, Carried map[types.NamespacedName][]*discoveryv1.EndpointSlice
	// Passed is when the last pass over the mux ended, zero without one. Failed is its error.
	Passed time.Time
	Failed error
}

// lastPass is what Look needs of the last pass. It is replaced, never changed.
type lastPass struct {
	at     time.Time
	failed error
	known  plan.Memory
}

// Look decides about a mux as a pass does, and writes nothing. Its only request is for a version of the ledger that
// this process hasn't read, once, so that callers may call it often. A standby may call it, too. A standby doesn't know
// what the API server refused, and takes a ledger that isn't in the cache for lost.
func (l *Line) Look(ctx context.Context, mux types.NamespacedName) (*Sight, error) {
	s := &Sight{
		World:   plan.World{Now: l.Now(), Keys: l.Language.Keys(), Key: mux, RebuildFrom: l.rebuildFrom()},
		Sources: map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
		Carried: map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
	}
	l.mu.Lock()
	last := l.passes[mux]
	l.mu.Unlock()
	s.Passed, s.Failed, s.Known = last.at, last.failed, last.known
	svc, err := l.service(ctx, mux)
	if err != nil {
		return nil, err
	}
	if svc != nil && l.isMux(svc) {
		s.World.Mux = plan.ReadMux(l.Language, svc, declaresPlaceholder(svc))
	}
	if err := l.lookAtChannels(ctx, s, svc); err != nil {
		return nil, err
	}
	if s.World.Mux != nil {
		if err := l.lookAtMux(ctx, s); err != nil {
			return nil, err
		}
	}
	s.Plan = plan.Mux(s.World, s.Known)
	return s, nil
}

func (l *Line) lookAtChannels(ctx context.Context, s *Sight, mux *corev1.Service) error {
	var list corev1.ServiceList
	if err := l.Cache.List(ctx, &list, client.MatchingFields{indexMux: s.World.Key.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("channels of mux %s: %w", s.World.Key, err)
	}
	for i := range list.Items {
		svc := l.services.Latest(client.ObjectKeyFromObject(&list.Items[i]), &list.Items[i])
		if svc == nil || !l.Language.Classify(svc).Channel() || l.muxOf(svc) != s.World.Key {
			continue
		}
		channel := plan.ReadChannel(l.Language, svc)
		sources, err := l.Sources(ctx, l.Cache, channel.Key)
		if err != nil {
			return err
		}
		if s.World.Mux != nil {
			channel.Backends = l.backing(ctx, &channel, s.World.Mux, mux)
			channel.RefusedSlices = l.refusedSlices(channel.Key)
		}
		s.Sources[channel.Key] = sources
		s.World.Channels = append(s.World.Channels, channel)
	}
	return nil
}

func (l *Line) lookAtMux(ctx context.Context, s *Sight) error {
	mux := s.World.Mux
	onMux, err := l.OnMux(ctx, l.Cache, mux.Key)
	if err != nil {
		return fmt.Errorf("slices of mux %s: %w", mux.Key, err)
	}
	for _, slice := range onMux {
		if channel, says := muxslices.ChannelOfSlice(l.Language.Keys(), slice); says {
			s.Carried[channel] = append(s.Carried[channel], slice)
		}
	}
	s.World.Records = muxslices.RecordsOf(l.Language.Keys(), onMux)
	s.Known.LastGood = l.Board.LastGood(mux.Key)
	s.World.Ledger, err = l.Ledgers.Peek(ctx, ask(mux))
	return err
}

// rememberPass keeps the last pass's memory and error for the console.
func (l *Line) rememberPass(o *observed, failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := o.known
	known.Blocked, known.Contested, known.Frozen = o.memory.blocked.reason, time.Time{}, ""
	l.passes[o.world.Key] = lastPass{at: l.Now(), failed: failed, known: known}
}

// Service returns the newest known state of a Service; nil if it doesn't exist. Callers must not change it: it belongs
// to the cache.
func (l *Line) Service(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	return l.service(ctx, key)
}

// MuxOf returns the mux that a channel names, or the mux itself. It is false for a plain Service, and for a mux that
// this reconciler doesn't serve.
func (l *Line) MuxOf(svc *corev1.Service) (types.NamespacedName, bool) {
	kind, mux := l.Language.Classify(svc), client.ObjectKeyFromObject(svc)
	if kind.Channel() {
		mux = l.muxOf(svc)
	}
	return mux, kind != validation.Stranger && l.LooksAfter(mux)
}
