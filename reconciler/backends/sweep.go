package backends

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/controllers"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/pace"
)

const (
	// sweepDelay is the time that a channel's pass has to repair the labels or the owner of a slice that looks stray.
	sweepDelay = 5 * time.Second
	// sweepRetry is the pause after a write conflict. The API server may answer with one though nothing changed, and then
	// no event wakes the sweeper.
	sweepRetry = time.Second
	// unknownPause is the time between two looks at a slice whose listener isn't known yet.
	unknownPause = 10 * time.Second
	// sweptAtOnce is how many slices are deleted at once. A tenant can make thousands of stray slices, and their deletions
	// must not crowd out the requests of passes.
	sweptAtOnce = 1
)

// sweeper deletes slices on a mux that look like ours and that no pass over a channel sees:
//
//	the mux doesn't own it            another writer made it or removed the owner, or an earlier mux of the name had it
//	its channel isn't on the mux      the channel left, perhaps while no reconciler ran
//	its name doesn't fit its labels   another writer copied it or changed its labels
//
// It works on one slice at a time, with a queue of its own, so no pass waits for it. Slices without a mux are left
// alone: data planes ignore them, and we may have no rights in their namespace.
type sweeper struct{ *line }

func setupSweeper(mgr manager.Manager, l *line) error {
	s := &sweeper{l}
	return add(mgr, "backends-sweep", s, sweptAtOnce,
		source.Kind(mgr.GetCache(), &discoveryv1.EndpointSlice{}, controllers.OnChange(s.onSlice)),
		source.Kind(mgr.GetCache(), &corev1.Service{}, controllers.OnChange(s.onService)))
}

func (s *sweeper) onSlice(ctx context.Context, q queue, old, now *discoveryv1.EndpointSlice) {
	switch {
	case now != nil && (s.isStray(ctx, now) || s.isUnknown(now)):
		q.AddAfter(request(client.ObjectKeyFromObject(now)), sweepDelay)
	case now == nil && project.IsOurSlice(s.keys, old):
		q.AddAfter(request(client.ObjectKeyFromObject(old)), pace.Calm) // Reconcile forgets its pace
	}
}

// onService sweeps the slices on a mux when the mux comes, and a channel's slices when the channel leaves its mux.
func (s *sweeper) onService(ctx context.Context, q queue, old, now *corev1.Service) {
	key := client.ObjectKeyFromObject(cmp.Or(now, old))
	before, was := muxOf(s.Language, old)
	after, _ := muxOf(s.Language, now)
	var list []*discoveryv1.EndpointSlice
	var err error
	delay := time.Duration(0)
	switch {
	case old == nil && s.asMux(now) != "":
		list, err = OnMux(ctx, s.cache, key)
		delay = sweepDelay
	case was && before != after:
		var mux *corev1.Service
		if mux, err = s.get(ctx, before); mux != nil {
			list, err = Carried(ctx, s.cache, key, mux)
		}
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Some stray slices may stay until they change")
	}
	for _, slice := range list {
		if s.isStray(ctx, slice) {
			q.AddAfter(request(client.ObjectKeyFromObject(slice)), delay)
		}
	}
}

// Reconcile deletes a slice if it is stray, and forgets a slice that is gone.
func (s *sweeper) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	slice, err := read(ctx, s.cache, req.NamespacedName, &discoveryv1.EndpointSlice{})
	if err != nil {
		return reconcile.Result{}, err
	}
	if slice == nil {
		s.pace.Forget(req.NamespacedName)
		s.retries.Forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if s.Print == nil && s.isUnknown(slice) {
		return reconcile.Result{RequeueAfter: unknownPause}, nil
	}
	if s.Print != nil || !s.isStray(ctx, slice) {
		return reconcile.Result{}, nil
	}
	gone := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: slice.Namespace, Name: slice.Name}}
	err = s.Writer.Delete(ctx, gone, client.Preconditions{UID: &slice.UID, ResourceVersion: &slice.ResourceVersion})
	switch {
	case err != nil && isStale(err):
		return reconcile.Result{RequeueAfter: sweepRetry}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("delete stray EndpointSlice %s: %w", req, err)
	}
	s.pace.Forget(req.NamespacedName)
	s.Metrics.wrote(project.MuxOfSlice(s.keys, slice), project.Delete, false)
	log.FromContext(ctx).Info("Deleted a stray slice", "slice", req.NamespacedName)
	return reconcile.Result{}, nil
}

// isUnknown is true for a slice of a listener while Gateways are still being read.
func (s *sweeper) isUnknown(slice *discoveryv1.EndpointSlice) bool {
	channel, told := project.ChannelOfSlice(s.keys, slice)
	if !told || claimants.IsService(channel) || s.Claimants == nil {
		return false
	}
	_, _, err := s.Claimants.MuxOf(channel)
	return err != nil
}

// isStray is true for a slice on a mux that no pass over a channel sees. A Service that was a mux still owns the slices
// that it had. If a slice has the name that a source needs, the channel's pass takes it over.
func (s *sweeper) isStray(ctx context.Context, slice *discoveryv1.EndpointSlice) bool {
	channel, told := project.ChannelOfSlice(s.keys, slice)
	if !told {
		return false // a pass that needs the slice finds it by its name
	}
	key := project.MuxOfSlice(s.keys, slice)
	mux, err := s.get(ctx, key)
	if err != nil || mux == nil || mux.DeletionTimestamp != nil || !s.LooksAfter(key) {
		return false
	}
	isOwned := slices.Contains(project.OwnersOfSlice(slice), mux.UID)
	on, attached, err := s.muxOf(ctx, channel)
	if err != nil || !isOwned && !s.mux(mux).IsMux {
		return false
	}
	if !attached || on != key {
		return true
	}
	if isOwned && project.HasOwnName(s.keys, slice) {
		return false
	}
	sources, err := SourcesOf(s.Claimants)(ctx, s.cache, channel)
	return err == nil && !slices.ContainsFunc(sources, func(source *discoveryv1.EndpointSlice) bool {
		return slice.Name == project.SliceName(key, channel, source.Name, source.AddressType)
	})
}
