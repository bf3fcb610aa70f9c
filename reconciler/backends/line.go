package backends

import (
	"context"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/fresh"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/validation"
)

const (
	// patience is how long the line trusts its own write more than a cache that doesn't show the write.
	patience = time.Minute
	// The pauses until the next pass over a channel whose mux isn't decided, or that needs the name of a foreign slice.
	undecided, nameTaken = time.Second, 10 * time.Second
)

// line reconciles one channel at a time.
type line struct {
	Options
	keys  validation.Keys
	cache client.Reader

	rooms   rooms
	written *fresh.Store[*discoveryv1.EndpointSlice]
	pace    *pace.Pace[types.NamespacedName]
	// retries delays the next write of an object after a write conflict.
	retries workqueue.TypedRateLimiter[types.NamespacedName]
}

func newLine(options Options, cache client.Reader) *line {
	return &line{
		Options: options, keys: options.Language.Keys(), cache: cache,
		rooms:   rooms{muxes: map[types.UID]*room{}},
		written: fresh.New[*discoveryv1.EndpointSlice](patience, options.Now),
		pace:    pace.New[types.NamespacedName](),
		retries: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
	}
}

// Reconcile observes a channel, decides about its slices on the mux, and writes them.
func (l *line) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	seen, err := l.observe(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	decided, err := l.decide(ctx, &seen)
	if err != nil {
		return reconcile.Result{}, err
	}
	if l.Print != nil {
		l.Print(&decided)
		return reconcile.Result{RequeueAfter: l.Reports.set(&seen, decided.Excess, nil, l.Now())}, nil
	}
	applied, err := l.apply(ctx, &decided)
	again := sooner(applied.again, l.Reports.set(&seen, decided.Excess, applied.refused, l.Now()))
	if decided.Excess != nil {
		again = sooner(again, roomPause)
	}
	if seen.ClaimsKnown || !seen.Mux.IsMux {
		l.Metrics.carry(decided.Channel, decided.Mux, load{decided.Carried, len(applied.refused)})
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if seen.Mux.IsMux && !seen.ClaimsKnown {
		again = sooner(again, undecided)
	}
	if seen.isAhead {
		again = sooner(again, patience)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// sooner returns the shorter of two waits. 0 means that no pass is due, so that the other one counts.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
