package services

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// lastPass is what Look needs of the last pass. It is replaced, never changed.
type lastPass struct {
	at     time.Time
	failed error
	known  plan.Memory
}

// Look decides about a mux as a pass does, and writes nothing. Its only request reads the ledger, once for each version
// of it, so callers may call Look often. A standby may call it, too. A standby doesn't know what the API server
// refused, and takes a ledger that isn't in the cache for lost.
func (l *Line) Look(ctx context.Context, mux types.NamespacedName) (*sight.Sight, error) {
	l.mu.Lock()
	last := l.passes[mux]
	l.mu.Unlock()
	known := last.known
	known.LastGood = l.Board.LastGood(mux)
	question := sight.Question{Language: l.Language, Mux: mux, Now: l.Now(), RebuildFrom: l.rebuildFrom(), Known: known}
	s, err := sight.Of(question, &cached{l, ctx, mux, ""})
	if err != nil {
		return nil, err
	}
	s.Passed, s.Failed = last.at, last.failed
	return s, nil
}

// cached reads a mux's world from the cache, for one look. The objects belong to the cache.
type cached struct {
	line *Line
	ctx  context.Context
	mux  types.NamespacedName
	uid  types.UID // of the mux
}

func (c *cached) Mux() (*corev1.Service, bool, error) {
	svc, err := c.line.Service(c.ctx, c.mux)
	if svc == nil {
		return nil, false, err
	}
	c.uid = svc.UID
	return svc, declaresPlaceholder(svc), err
}

func (c *cached) Channels() ([]*corev1.Service, error) {
	var list corev1.ServiceList
	if err := c.line.Cache.List(c.ctx, &list, client.MatchingFields{indexMux: c.mux.String()},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("channels of mux %s: %w", c.mux, err)
	}
	services := make([]*corev1.Service, 0, len(list.Items))
	for i := range list.Items {
		if svc := c.line.services.Latest(client.ObjectKeyFromObject(&list.Items[i]), &list.Items[i]); svc != nil {
			services = append(services, svc)
		}
	}
	return services, nil
}

func (c *cached) Claimants(mux *corev1.Service) (sight.Claimants, error) {
	asking, unknown := c.line.claimantsOn(mux)
	all := sight.Claimants{Asking: asking, Unknown: unknown}
	if c.line.Claimants != nil {
		all.Listeners = c.line.Claimants.Shown(c.mux)
	}
	return all, nil
}

func (c *cached) Sources(channel types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return c.line.Sources(c.ctx, c.line.Cache, channel)
}

func (c *cached) OnMux() ([]*discoveryv1.EndpointSlice, error) {
	onMux, err := c.line.OnMux(c.ctx, c.line.Cache, c.mux)
	if err != nil {
		return nil, fmt.Errorf("slices of mux %s: %w", c.mux, err)
	}
	return onMux, nil
}

func (c *cached) Ledger(mux *plan.ObservedMux) (plan.Reading, error) {
	return c.line.Ledgers.Peek(c.ctx, record.AskOf(mux))
}

func (c *cached) RefusedSlices(channel types.NamespacedName) string {
	if c.line.Backing == nil {
		return ""
	}
	_, refused := c.line.Backing(channel, c.uid)
	return refused
}

// rememberPass keeps the last pass's memory and error for the console.
func (o *pass) rememberPass(failed error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.known
	known.Blocked, known.ContestedUntil, known.Frozen = o.memory.blocked.reason, time.Time{}, ""
	o.passes[o.world.Key] = lastPass{at: o.Now(), failed: failed, known: known}
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
