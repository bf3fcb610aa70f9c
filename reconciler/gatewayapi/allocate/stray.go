package allocate

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// reconcileStray takes our part of the status, and the number, off a route that no longer asks for one. Its ListenerSet
// goes with its claim.
func (l *line) reconcileStray(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	kind, name, is := read.RouteNamed(request.NamespacedName)
	if !is {
		return reconcile.Result{}, nil
	}
	object := read.NewRoute(kind)
	if err := l.cache.Get(ctx, name, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	route, _ := read.RouteOf(object)
	if route.AsksForNumber(l.Language) || route.Said(&l.keys) == nil {
		return reconcile.Result{}, nil
	}
	err := l.setNumber(ctx, &route, "")
	if err == nil {
		err = l.live.Get(ctx, name, object) // the write of the annotation made a newer version
	}
	if err == nil {
		err = l.setStatus(ctx, &route, withoutOurs(&l.keys, route.Status.Parents))
	}
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: behindPause}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}
