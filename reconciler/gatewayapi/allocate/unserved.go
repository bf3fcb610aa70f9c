package allocate

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// An unserved route asks for a number on a Gateway in a namespace that this process doesn't serve. Another release may
// serve the Gateway, and writes the route's status then. If none does, the route would wait forever without a reason:
// this process writes one.

// othersPatience is how long this process waits for another release to write the status of a new route.
const othersPatience = 10 * time.Second

// reportUnserved writes MuxNotServed into the statuses of a Gateway's unserved routes that no other release has
// written.
func (l *line) reportUnserved(ctx context.Context, gateway types.NamespacedName) (reconcile.Result, error) {
	o := &pass{line: l, key: gateway, routes: map[types.NamespacedName]*asking{}}
	if err := o.eachRoute(ctx, func(route *read.Route) { o.add(route) },
		client.MatchingFields{indexGateway: gateway.String()}); err != nil {
		return reconcile.Result{}, fmt.Errorf("routes of Gateway %s: %w", gateway, err)
	}
	var patches []plan.ChannelPatch
	var again time.Duration
	for i := range o.world.Channels {
		c := &o.world.Channels[i]
		if !o.mayReport(c) {
			continue
		}
		if wait := c.Created.Add(othersPatience).Sub(o.Now()); wait > 0 && wait <= othersPatience {
			again = min(cmp.Or(again, wait), wait)
			continue
		}
		patches = append(patches, o.unserved(c))
	}
	err := o.show(ctx, patches)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: behindPause}, nil // another release wrote the status meanwhile
	}
	return reconcile.Result{RequeueAfter: again}, err
}

// mayReport is true for a route without a verdict in its status, or with an outdated message of reportUnserved. It is
// false for a route that is being deleted.
func (o *pass) mayReport(c *plan.ObservedChannel) bool {
	said := meta.FindStatusCondition(c.Conditions, o.keys.Accepted)
	isOurs := said != nil && said.Reason == string(plan.MuxNotServed) && strings.HasPrefix(said.Message, o.textServer())
	return !c.Deleting && (said == nil || isOurs && said.Message != o.textUnserved(o.key))
}

// unserved returns the patch that tells an unserved route why it has no number.
func (o *pass) unserved(c *plan.ObservedChannel) plan.ChannelPatch {
	message := o.textUnserved(o.key)
	patch := plan.ChannelPatch{Channel: c.Key,
		Events: []plan.Event{{Object: c.Key, Warning: true, Reason: plan.MuxNotServed, Message: message}}}
	for _, is := range [...]metav1.Condition{
		{Type: o.keys.Accepted, Reason: string(plan.MuxNotServed), Message: message},
		{Type: o.keys.Programmed, Reason: string(plan.NotAccepted), Message: "the route has no number"},
	} {
		is.Status, is.LastTransitionTime = metav1.ConditionFalse, metav1.NewTime(o.Now().UTC().Truncate(time.Second))
		patch.Conditions = append(patch.Conditions, is)
	}
	return patch
}
