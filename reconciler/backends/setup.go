package backends

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/fair"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
	"nowake.ai/svc-lb-mux/validation"
)

// DefaultConcurrency is how many channels of one namespace are worked on at once.
const DefaultConcurrency = 8

// namespacesAtOnce is how many namespaces may have that many, before another one waits.
const namespacesAtOnce = 4

// Retries after an error begin and end with these pauses. There is no overall limit: one bad object must not slow down
// the others.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Minute
)

// Claims says what a channel has in force on a mux. Known is false until the mux has been decided about for the first
// time: until then nothing of what stands is touched. Ask for known first: claims that come between are then missed for
// a moment, where they would otherwise be taken for none.
type Claims func(channel, mux types.NamespacedName) (claims []plan.Claim, known bool)

// Options is what the line needs of the process that it runs in.
type Options struct {
	Language validation.Language
	Claims   Claims
	// Waker is told of channels whose claims have changed.
	Waker *Waker
	// Writer writes slices and Endpoints. A dry run gives one that doesn't.
	Writer client.Writer
	// Print, if set, gets what is decided about each channel in place of its being carried out.
	Print func(*muxslices.Decision)
	// Live reads past the cache: the Endpoints of each mux, once.
	Live client.Reader
	// Tell says something to people.
	Tell func(plan.Event)
	// Refusals takes the slices that the API server refuses. It may be nil.
	Refusals *Refusals
	// Metrics may be nil.
	Metrics *Metrics
	// LooksAfter is false for muxes that are another reconciler's: their slices aren't touched. If nil, all are ours.
	LooksAfter func(mux types.NamespacedName) bool
	// Concurrency is how many channels of one namespace are worked on at once; DefaultConcurrency if 0.
	Concurrency int
	// LegacyEndpoints asks for an Endpoints object on each mux, for readers that know no slices.
	LegacyEndpoints bool
	// Now is time.Now if nil.
	Now func() time.Time
}

func (o *Options) complete() error {
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Refusals == nil {
		o.Refusals = &Refusals{}
	}
	if o.LooksAfter == nil {
		o.LooksAfter = func(types.NamespacedName) bool { return true }
	}
	if o.Claims == nil || o.Waker == nil || o.Writer == nil || o.Live == nil || o.Tell == nil {
		return errors.New("backends: Claims, Waker, Writer, Live and Tell must be given")
	}
	return nil
}

// Setup registers the line with a manager: its indexes, what wakes it, and its workers.
func Setup(ctx context.Context, mgr manager.Manager, options Options) error {
	if err := options.complete(); err != nil {
		return err
	}
	if err := registerIndexes(ctx, mgr.GetFieldIndexer(), options.Language); err != nil {
		return err
	}
	l := newLine(options, mgr.GetCache())
	sources := []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &discoveryv1.EndpointSlice{}, l.onSlice()),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Service{}, l.onService()),
		options.Waker.source(),
	}
	if err := run(mgr, "backends", l, options.Concurrency, sources...); err != nil {
		return err
	}
	if options.LegacyEndpoints {
		if err := setupLegacy(mgr, l); err != nil {
			return err
		}
	}
	if err := setupSweeper(mgr, l); err != nil {
		return err
	}
	return setupTakeover(mgr, l, options.LegacyEndpoints)
}

// run registers a controller that works on up to share channels of a namespace at once. With a share of 1 it works on one
// channel at a time.
func run(mgr manager.Manager, name string, r reconcile.Reconciler, share int, sources ...source.Source) error {
	options := controller.Options{
		Reconciler:  r,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
	if share > 1 {
		options.MaxConcurrentReconciles, options.NewQueue = namespacesAtOnce*share, fair.NewQueue(share)
	}
	c, err := controller.New(name, mgr, options)
	if err != nil {
		return fmt.Errorf("controller %s: %w", name, err)
	}
	for _, source := range sources {
		if err := c.Watch(source); err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
	}
	return nil
}
