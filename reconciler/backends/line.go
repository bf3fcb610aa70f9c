package backends

import (
	"context"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/fight"
	"nowake.ai/svc-lb-mux/reconciler/fresh"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
	"nowake.ai/svc-lb-mux/validation"
)

const (
	// patience is how long one's own writes are believed though the cache doesn't show them.
	patience = time.Minute
	// strayed is how long a slice must have had nobody else claim it before it is deleted for its labels.
	strayed = 5 * time.Second
	// undecided is how soon a channel is looked at again whose mux hasn't been decided about.
	undecided = time.Second
)

// line reconciles one channel at a time.
type line struct {
	Options
	keys  validation.Keys
	cache client.Reader

	written *fresh.Store[*discoveryv1.EndpointSlice]
	fights  *fight.Fights[types.NamespacedName]
	// stale paces writes that were decided from what isn't so any more.
	stale   workqueue.TypedRateLimiter[types.NamespacedName]
	refused waitingList
	strays  strays
	inPlace memory
}

func newLine(options Options, cache client.Reader) *line {
	return &line{
		Options: options, keys: options.Language.Keys(), cache: cache,
		written: fresh.New[*discoveryv1.EndpointSlice](patience, options.Now),
		fights:  fight.New[types.NamespacedName](),
		stale:   workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
		refused: waitingList{channels: map[types.NamespacedName]types.NamespacedName{}},
		strays:  strays{since: map[types.NamespacedName]time.Time{}},
		inPlace: newMemory(),
	}
}

// Reconcile observes a channel, decides about its backends, and applies that.
func (l *line) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	view, err := l.observe(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	decided := muxslices.Decide(view.View)
	if l.Print != nil {
		l.Print(&decided)
		return reconcile.Result{}, nil
	}
	applied, err := l.apply(ctx, &decided)
	l.remember(ctx, &view.View, &decided, applied.refused)
	if err != nil {
		return reconcile.Result{}, err
	}
	again := applied.again
	if view.Attached && view.Mux.IsMux && !view.ClaimsKnown {
		again = sooner(again, undecided)
	}
	if view.ahead {
		again = sooner(again, patience)
	}
	if view.disputed {
		again = sooner(again, strayed)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// remember keeps what the next decision and the metrics need of this one.
func (l *line) remember(ctx context.Context, view *muxslices.View, decided *muxslices.Decision, refused wordsOfSlices) {
	l.inPlace.set(view.Channel, decided.InPlace)
	l.report(ctx, decided)
	for _, taken := range decided.Refused {
		refused[taken.Slice] = taken.String()
	}
	l.Refusals.set(view.Channel, view.Mux.Key, refused)
	l.Metrics.refuse(view.Channel, view.Mux.Key, len(refused))
	if !view.Attached || !view.Mux.IsMux {
		l.Metrics.carry(view.Channel, types.NamespacedName{}, 0)
		return
	}
	if view.ClaimsKnown {
		l.Metrics.carry(view.Channel, view.Mux.Key, decided.Carried)
	}
}

// sooner returns the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
