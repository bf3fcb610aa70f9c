package addresses

import (
	"context"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
)

// quiet gathers the changes of a burst into one pass.
const quiet = 50 * time.Millisecond

// slowest is the longest time between two passes. A pass also finds changes that no event reports.
const slowest = 5 * time.Minute

// everything is the only request: a pass looks at all pools.
func everything() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: "pools"}}
}

// Setup makes the manager run passes when muxes, Leases or claims change.
func (c *Controller) Setup(m manager.Manager, informers cache.Cache) error {
	runner, err := controller.New("gateways", m, c.options())
	if err != nil {
		return err
	}
	for _, watched := range []source.Source{
		source.Kind[client.Object](informers, &corev1.Service{}, soon(), predicate.NewPredicateFuncs(c.concerns),
			predicate.Funcs{DeleteFunc: c.hears}),
		source.Kind[client.Object](informers, &corev1.ConfigMap{}, soon()),
		source.Kind[client.Object](informers, &coordinationv1.Lease{}, soon(), predicate.Funcs{UpdateFunc: c.tellsNews}),
	} {
		if err := runner.Watch(watched); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) options() controller.Options {
	return controller.Options{MaxConcurrentReconciles: 1, Reconciler: reconcile.Func(c.Reconcile),
		RateLimiter: c.retries()}
}

// retries pauses before a pass that failed is tried again: up to 30 seconds, but not beyond the time at which a pass is
// due anyway. One status that can't be written delays no other mux.
func (c *Controller) retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return &untilDue{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond,
		30*time.Second), c}
}

type untilDue struct {
	workqueue.TypedRateLimiter[reconcile.Request]
	of *Controller
}

// When returns the pause before a request.
func (u *untilDue) When(request reconcile.Request) time.Duration {
	pause := u.TypedRateLimiter.When(request)
	if wait := u.of.due.Sub(u.of.Now()); wait > 0 {
		pause = min(pause, wait)
	}
	return pause
}

// Reconcile makes a pass, and asks for the next one.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	again, err := c.Pass(ctx)
	c.due = again
	if err != nil {
		return reconcile.Result{}, err // repeated after the pause of retries
	}
	wait := slowest
	if !again.IsZero() {
		wait = min(wait, max(again.Sub(c.Now()), time.Millisecond))
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// concerns is true for a Service that a pass looks at. A Service that lost its class still has our conditions, until a
// pass removes them.
func (c *Controller) concerns(object client.Object) bool {
	svc, is := object.(*corev1.Service)
	if !is {
		return true
	}
	_, concerns := decide.Parse(c.Language, svc)
	return concerns
}

// hears records a deletion that the watch told. After a broken watch, a Service is only missing from a list.
func (c *Controller) hears(e event.DeleteEvent) bool {
	if !e.DeleteStateUnknown {
		c.Deleted(e.Object)
	}
	return true
}

// tellsNews is false if an update only renews a live gateway's Lease, and at most brings new counts of traffic. No
// decision depends on these, and gateways renew their Leases every few seconds.
func (c *Controller) tellsNews(e event.UpdateEvent) bool {
	keys := c.Language.Keys()
	decisive := func(annotations map[string]string) map[string]string {
		rest := maps.Clone(annotations)
		delete(rest, keys.GatewayTraffic)
		return rest
	}
	before, is := e.ObjectOld.(*coordinationv1.Lease)
	after, too := e.ObjectNew.(*coordinationv1.Lease)
	if !is || !too || !maps.Equal(before.Labels, after.Labels) ||
		!maps.Equal(decisive(before.Annotations), decisive(after.Annotations)) {
		return true
	}
	g, is := lease.Read(after, keys)
	return is && c.sightings.renewed(&g, c.Now())
}

func soon() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, _ event.CreateEvent, q queue) { q.AddAfter(everything(), quiet) },
		UpdateFunc:  func(_ context.Context, _ event.UpdateEvent, q queue) { q.AddAfter(everything(), quiet) },
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q queue) { q.AddAfter(everything(), quiet) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q queue) { q.AddAfter(everything(), quiet) },
	}
}
