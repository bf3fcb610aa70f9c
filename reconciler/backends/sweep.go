package backends

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

const (
	// sweepSize bounds how many slices one sweep deletes.
	sweepSize = 100
	// sweepPause is between two sweeps of one mux.
	sweepPause = time.Second
)

// sweeper deletes the slices on a mux that look like ours and that no pass over a channel sees:
//
//	the mux doesn't own it          somebody made it, or took the owner off, or the owner is a mux that had its name before
//	its channel isn't on the mux    the channel went while no reconciler ran
//
// It has a queue of its own, so that a channel's pass waits for none of them. It waits before it looks: a pass takes over
// what has a name that it needs, and puts labels right. Slices in a namespace without a mux aren't swept: no data plane
// takes them for a mux's, and we may have no rights there.
type sweeper struct{ *line }

func setupSweeper(mgr manager.Manager, l *line) error {
	s := &sweeper{l}
	return run(mgr, "backends-sweep", s, 1,
		source.Kind[client.Object](mgr.GetCache(), &discoveryv1.EndpointSlice{}, s.onSlice()),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Service{}, s.onService()))
}

func (s *sweeper) onSlice() handler.EventHandler {
	look := func(ctx context.Context, object client.Object, q queue) {
		slice := object.(*discoveryv1.EndpointSlice)
		if !muxslices.IsOurSlice(s.keys, slice) {
			return
		}
		mux := muxslices.MuxOfSlice(s.keys, slice)
		if svc, err := s.get(ctx, mux); err == nil && s.isSwept(svc) && s.isStray(ctx, svc, slice) {
			q.AddAfter(reconcile.Request{NamespacedName: mux}, strayed)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { look(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { look(ctx, e.ObjectNew, q) },
	}
}

// onService has a mux swept when it comes, and when a channel leaves it.
func (s *sweeper) onService() handler.EventHandler {
	wake := func(q queue, mux types.NamespacedName) {
		if mux.Name != "" {
			q.AddAfter(reconcile.Request{NamespacedName: mux}, strayed)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if s.roleOf(e.Object).isMux {
				wake(q, client.ObjectKeyFromObject(e.Object))
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if before := s.roleOf(e.ObjectOld).attached; before != s.roleOf(e.ObjectNew).attached {
				wake(q, before)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(q, s.roleOf(e.Object).attached) },
	}
}

// Reconcile sweeps one mux.
func (s *sweeper) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	mux, err := s.get(ctx, req.NamespacedName)
	if err != nil || s.Print != nil || !s.isSwept(mux) {
		return reconcile.Result{}, err
	}
	list, err := OnMux(ctx, s.cache, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	var result reconcile.Result
	swept := 0
	for _, slice := range list {
		if !s.isStray(ctx, mux, slice) {
			continue
		}
		if swept == sweepSize {
			return reconcile.Result{RequeueAfter: sweepPause}, nil
		}
		swept++
		gone, err := s.sweep(ctx, slice)
		if err != nil {
			return reconcile.Result{}, err
		}
		if !gone {
			result.RequeueAfter = sweepPause
		}
	}
	return result, nil
}

// sweep deletes a slice. It returns false after a write conflict: the API server may answer with one though nothing
// changed, and then no event has the slice looked at again.
func (s *sweeper) sweep(ctx context.Context, slice *discoveryv1.EndpointSlice) (bool, error) {
	key := client.ObjectKeyFromObject(slice)
	gone := &discoveryv1.EndpointSlice{}
	gone.Namespace, gone.Name = slice.Namespace, slice.Name
	err := s.Writer.Delete(ctx, gone, client.Preconditions{UID: &slice.UID, ResourceVersion: &slice.ResourceVersion})
	if err != nil && !isStale(err) {
		return false, fmt.Errorf("delete EndpointSlice %s, which no channel of its mux has: %w", key, err)
	}
	if err == nil {
		s.Metrics.wrote(muxslices.MuxOfSlice(s.keys, slice), muxslices.Delete)
		log.FromContext(ctx).Info("Deleted a slice that no channel of its mux has", "slice", key)
	}
	return err == nil || apierrors.IsNotFound(err), nil
}

// isSwept is true for a Service that lives, also if it isn't a mux any more: it owns the slices that it had as one.
func (s *sweeper) isSwept(mux *corev1.Service) bool {
	return mux != nil && mux.DeletionTimestamp == nil && s.LooksAfter(client.ObjectKeyFromObject(mux))
}

// isStray is true for a slice on a mux that no pass over a channel sees.
func (s *sweeper) isStray(ctx context.Context, mux *corev1.Service, slice *discoveryv1.EndpointSlice) bool {
	if _, inPlace := s.inPlace.channelOf(client.ObjectKeyFromObject(slice)); inPlace {
		return false
	}
	key, owned := client.ObjectKeyFromObject(mux), slices.Contains(muxslices.OwnersOfSlice(slice), mux.UID)
	if !owned && !s.carrier(mux).IsMux {
		return false
	}
	channel, told := muxslices.ChannelOfSlice(s.keys, slice)
	if !told {
		return false // nobody knows which channel it was
	}
	svc, err := s.get(ctx, channel)
	if err != nil {
		return false
	}
	if svc == nil {
		return true
	}
	if on, attached := muxOf(s.Language, svc); !attached || on != key {
		return true
	}
	return !owned && !s.isWanted(ctx, key, channel, slice)
}

// isWanted is true for a slice that has the name of one that the channel's pass keeps.
func (s *sweeper) isWanted(ctx context.Context, mux, channel types.NamespacedName, slice *discoveryv1.EndpointSlice) bool {
	sources, err := Sources(ctx, s.cache, channel)
	return err != nil || slices.ContainsFunc(sources, func(source *discoveryv1.EndpointSlice) bool {
		return slice.Name == muxslices.SliceName(mux, channel, source.Name, source.AddressType)
	})
}
