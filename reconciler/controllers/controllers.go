// Package controllers adds controllers to a manager, in the same way for all packages.
package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Queue is the queue of a controller.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Add adds a controller to a manager.
func Add(m manager.Manager, name string, options controller.Options, sources ...source.Source) error {
	options.RateLimiter = Retries()
	c, err := controller.New(name, m, options)
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

// Retries returns the pauses of a request that fails again and again: at most 30 s. The default maximum of 17 minutes
// would let users wait too long without a word. There is no limit over all requests: one bad object must not slow down
// the others.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 30*time.Second)
}

// OnChange calls changed for each event of an object. old is nil for a new object; now is nil for an object that is
// gone.
func OnChange[T client.Object](changed func(ctx context.Context, q Queue, old, now T)) handler.TypedEventHandler[T,
	reconcile.Request] {
	var none T
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q Queue) { changed(ctx, q, none, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q Queue) {
			changed(ctx, q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q Queue) { changed(ctx, q, e.Object, none) },
	}
}

// Differing returns the states of an object that an event shows; none if the event shows no change.
func Differing[T interface {
	comparable
	client.Object
}](old, now T) []T {
	var none T
	switch {
	case old == none:
		return []T{now}
	case now == none:
		return []T{old}
	case old.GetResourceVersion() == now.GetResourceVersion():
		return nil
	}
	return []T{old, now}
}
