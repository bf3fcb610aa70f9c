package line

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/status"
)

// publish writes the statuses that differ, and sends Events about the changes. If a write fails, publish goes on with
// the other statuses.
//
// It starts no new write after l.WritesOfAPass writes, and returns when to write more. The Gateway comes first, then
// routes, then ListenerSets. In a burst of new routes, a status is outdated as soon as it is written: a later pass
// writes the rest from newer objects. A write that fails doesn't count: a namespace whose routes can't be written must
// not keep other namespaces waiting.
func (l *serving) publish(ctx context.Context, given *status.Given) (again time.Duration, err error) {
	var written atomic.Int64
	var more atomic.Bool
	patch := func(object client.Object, set func(now client.Object) (bool, []status.News)) error {
		writes := false
		err := l.patchStatus(ctx, object, func(now client.Object) (bool, []status.News) {
			changed, news := set(now)
			full := written.Load() >= int64(l.WritesOfAPass)
			if changed && full {
				more.Store(true)
			}
			writes = changed && !full
			return writes, news
		})
		if writes && err == nil {
			written.Add(1)
		}
		return err
	}
	gateway := given.Served.Gateway
	ofGateway := patch(gateway, func(now client.Object) (bool, []status.News) {
		after := given.Gateway()
		now.(*gatewayv1.Gateway).Status = after
		return !equality.Semantic.DeepEqual(after, gateway.Status), status.GatewayNews(gateway, &after)
	})
	ofRoutes := run.InParallel(l.WritesAtOnce, given.Routes, func(route read.Route) error {
		return patch(route.Object.(client.Object), func(now client.Object) (bool, []status.News) {
			after := parentsOfRoute(read.ControllerName(&l.keys), given, &route)
			copied, _ := read.RouteOf(now)
			copied.Status.Parents = after
			return !equality.Semantic.DeepEqual(after, route.Status.Parents),
				status.RouteNews(read.ControllerName(&l.keys), &route, after)
		})
	})
	ofSets := run.InParallel(l.WritesAtOnce, given.Sets, func(set *gatewayv1.ListenerSet) error {
		return patch(set, func(now client.Object) (bool, []status.News) {
			after := given.ListenerSet(set)
			now.(*gatewayv1.ListenerSet).Status = after
			return !equality.Semantic.DeepEqual(after, set.Status), status.ListenerSetNews(set, &after)
		})
	})
	if more.Load() {
		again = quiet
	}
	return again, cmp.Or(ofGateway, ofRoutes, ofSets)
}

// patchStatus writes an object's status if set changes it, and then tells the news. Other controllers write the same
// lists, so the write conflicts if the object changed since it was read.
func (l *serving) patchStatus(ctx context.Context, object client.Object,
	set func(now client.Object) (changed bool, news []status.News)) error {
	now := object.DeepCopyObject().(client.Object)
	changed, news := set(now)
	if !changed {
		return nil
	}
	if err := l.write.Status().Patch(ctx, now,
		client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(err)
	}
	l.tell(object, news)
	return nil
}

// tell sends Events about a Gateway, a ListenerSet or a route.
func (l *serving) tell(object client.Object, news []status.News) {
	for _, n := range news {
		kind := corev1.EventTypeNormal
		if n.Warning {
			kind = corev1.EventTypeWarning
		}
		l.Events.Event(referenceTo(object), kind, n.Reason, n.Message)
	}
}

// referenceTo names an object in an Event. Objects of the cache don't have their kind.
func referenceTo(object client.Object) *corev1.ObjectReference {
	kind := "Gateway"
	if route, is := read.RouteOf(object); is {
		kind = route.Kind
	} else if _, is := object.(*gatewayv1.ListenerSet); is {
		kind = "ListenerSet"
	}
	return &corev1.ObjectReference{APIVersion: gatewayv1.GroupVersion.String(), Kind: kind,
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()}
}

// parentsOfRoute returns the entries of a route's status: those of others as they are, and ours for its present
// parentRefs. An entry keeps its place: otherwise two Gateways, or two controllers, would put theirs last in turns
// without end.
func parentsOfRoute(controller gatewayv1.GatewayController, given *status.Given,
	route *read.Route) []gatewayv1.RouteParentStatus {
	ours := given.Parents(controller, route)
	all := []gatewayv1.RouteParentStatus{}
	for _, said := range route.Status.Parents {
		same := func(p gatewayv1.RouteParentStatus) bool {
			return equality.Semantic.DeepEqual(p.ParentRef, said.ParentRef)
		}
		asks := slices.ContainsFunc(route.Spec.ParentRefs, func(ref gatewayv1.ParentReference) bool {
			return equality.Semantic.DeepEqual(ref, said.ParentRef)
		})
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
