package line

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/status"
)

// A stray is an entry of ours in a route's status about a parent that is gone, or that isn't ours any more. No pass
// over a Gateway sees it.

// reconcileStray removes the strays of a route.
func (l *serving) reconcileStray(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	kind, key, is := read.RouteNamed(request.NamespacedName)
	if !is {
		return reconcile.Result{}, nil
	}
	object := read.NewRoute(kind)
	if err := l.cache.Get(ctx, key, object.(client.Object)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	route, _ := read.RouteOf(object)
	var failed error
	kept := slices.DeleteFunc(slices.Clone(route.Status.Parents), func(p gatewayv1.RouteParentStatus) bool {
		if p.ControllerName != read.ControllerName(&l.keys) {
			return false
		}
		ends, err := l.isGone(ctx, &route, &p.ParentRef)
		if err != nil {
			failed = err
		}
		return ends && err == nil
	})
	if failed != nil || len(kept) == len(route.Status.Parents) {
		return reconcile.Result{}, failed
	}
	err := l.patchStatus(ctx, object.(client.Object), func(now client.Object) (bool, []status.News) {
		copied, _ := read.RouteOf(now)
		copied.Status.Parents = kept
		return true, nil
	})
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: behindPause}, nil
	}
	return reconcile.Result{}, err
}

// isGone is true for a parent that doesn't exist, or that is another controller's. A parent isn't gone if its
// GatewayClass is missing, or if this process doesn't serve its namespace.
func (l *serving) isGone(ctx context.Context, route *read.Route, ref *gatewayv1.ParentReference) (bool, error) {
	kind, key := read.ParentOf(route, ref)
	if kind == "ListenerSet" {
		var set gatewayv1.ListenerSet
		if err := l.cache.Get(ctx, key, &set, client.UnsafeDisableDeepCopy); err != nil {
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
		key = read.GatewayOfSet(&set)
	}
	_, whose, err := l.whose(ctx, l.cache, key)
	return whose == gone || whose == foreign, err
}

// straysOf returns the routes that may have strays after a change of an object.
func (l *serving) straysOf(ctx context.Context, object client.Object) (routes []types.NamespacedName) {
	var parents []string
	switch o := object.(type) {
	case *gatewayv1.Gateway:
		parents = append(parents, parentKey("Gateway", client.ObjectKeyFromObject(o)))
		parents = append(parents, l.setsOf(ctx, client.ObjectKeyFromObject(o))...)
	case *gatewayv1.GatewayClass:
		for _, gateway := range l.gatewaysOfClass(ctx, o.Name) {
			parents = append(append(parents, parentKey("Gateway", gateway)), l.setsOf(ctx, gateway)...)
		}
	case *gatewayv1.ListenerSet:
		parents = append(parents, parentKey("ListenerSet", client.ObjectKeyFromObject(o)))
	default:
		if route, is := read.RouteOf(object); is {
			return []types.NamespacedName{route.Key()}
		}
	}
	for _, parent := range parents {
		if err := l.kinds.EachRoute(ctx, l.cache, func(route *read.Route) { routes = append(routes, route.Key()) },
			client.MatchingFields{indexParent: parent}); err != nil {
			l.Log.Error(err, "routes can't be listed: their status entries about this parent stay until the next change",
				"parent", parent)
		}
	}
	return routes
}

// setsOf returns the ListenerSets of a Gateway, as the index of parents has them.
func (l *serving) setsOf(ctx context.Context, gateway types.NamespacedName) (parents []string) {
	if !l.kinds.Has("ListenerSet") {
		return nil
	}
	var list gatewayv1.ListenerSetList
	if err := l.cache.List(ctx, &list, client.MatchingFields{indexGateway: gateway.String()},
		client.UnsafeDisableDeepCopy); err != nil {
		l.Log.Error(err, "ListenerSets can't be listed: status entries of their routes stay until the next change", "gateway",
			gateway)
	}
	for i := range list.Items {
		parents = append(parents, parentKey("ListenerSet", client.ObjectKeyFromObject(&list.Items[i])))
	}
	return parents
}
