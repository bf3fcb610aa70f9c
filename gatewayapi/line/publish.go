package line

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/gatewayapi/read"
	"nowake.ai/svc-lb-mux/gatewayapi/run"
	"nowake.ai/svc-lb-mux/gatewayapi/status"
)

// publish writes the statuses that differ. One that can't be written doesn't keep the others from being written.
func (l *serving) publish(ctx context.Context, given *status.Given) error {
	gateway := given.Served.Gateway
	ofGateway := l.patchStatus(ctx, gateway, func(now client.Object) bool {
		after := given.Gateway()
		changed := !equality.Semantic.DeepEqual(after, gateway.Status)
		now.(*gatewayv1.Gateway).Status = after
		return changed
	})
	ofSets := run.InParallel(l.WritesAtOnce, given.Sets, func(set *gatewayv1.ListenerSet) error {
		return l.patchStatus(ctx, set, func(now client.Object) bool {
			after := given.ListenerSet(set)
			changed := !equality.Semantic.DeepEqual(after, set.Status)
			now.(*gatewayv1.ListenerSet).Status = after
			return changed
		})
	})
	ofRoutes := run.InParallel(l.WritesAtOnce, given.Routes, func(route read.Route) error {
		return l.patchStatus(ctx, route.Object.(client.Object), func(now client.Object) bool {
			after := l.parents(given, &route)
			changed := !equality.Semantic.DeepEqual(after, route.Status.Parents)
			copied, _ := read.RouteOf(now)
			copied.Status.Parents = after
			return changed
		})
	})
	return cmp.Or(ofGateway, ofSets, ofRoutes)
}

// patchStatus writes an object's status if set changes it. Others write the same lists, so the object must be as it was read.
func (l *serving) patchStatus(ctx context.Context, object client.Object, set func(now client.Object) bool) error {
	now := object.DeepCopyObject().(client.Object)
	if !set(now) {
		return nil
	}
	return client.IgnoreNotFound(l.write.Status().Patch(ctx, now, client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})))
}

// parents returns the entries of a route's status: those of others as they are, and ours for its present parentRefs. An entry keeps its place:
// otherwise two Gateways, or two controllers, would put theirs last in turns without end.
func (l *serving) parents(given *status.Given, route *read.Route) []gatewayv1.RouteParentStatus {
	controller := read.ControllerName(&l.keys)
	ours := given.Parents(controller, route)
	all := []gatewayv1.RouteParentStatus{}
	for _, said := range route.Status.Parents {
		same := func(p gatewayv1.RouteParentStatus) bool {
			return equality.Semantic.DeepEqual(p.ParentRef, said.ParentRef)
		}
		asks := slices.ContainsFunc(route.Spec.ParentRefs, func(ref gatewayv1.ParentReference) bool { return equality.Semantic.DeepEqual(ref, said.ParentRef) })
		switch at := slices.IndexFunc(ours, same); {
		case said.ControllerName != controller:
			all = append(all, said)
		case at >= 0:
			all = append(all, ours[at])
			ours = slices.Delete(ours, at, at+1)
		case asks && !given.IsAbout(route, &said.ParentRef): // of another Gateway of ours
			all = append(all, said)
		}
	}
	return append(all, ours...)
}
