package allocate

import (
	"context"
	"fmt"
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

// While the API server doesn't serve ListenerSets, because their CRD was deleted or never installed, no number can be
// published. The ledger and the numbers that routes show stay as they are, and with the CRD each route gets its
// ListenerSet back. Meanwhile the routes are told why nobody listens.

// reportNoSets writes NoListenerSets into the statuses of a Gateway's routes. A route that had a number keeps its
// condition Accepted. A route that is refused keeps its status.
func (l *line) reportNoSets(ctx context.Context, gateway types.NamespacedName) (reconcile.Result, error) {
	o := &pass{line: l, key: gateway, routes: map[types.NamespacedName]*asking{}}
	if err := o.eachRoute(ctx, func(route *read.Route) { o.add(route) },
		client.MatchingFields{indexGateway: gateway.String()}); err != nil {
		return reconcile.Result{}, fmt.Errorf("routes of Gateway %s: %w", gateway, err)
	}
	var patches []plan.ChannelPatch
	for i := range o.world.Channels {
		c := &o.world.Channels[i]
		said := meta.FindStatusCondition(c.Conditions, o.keys.Programmed)
		isTold := said != nil && said.Reason == string(NoListenerSets)
		if !c.Deleting && !isTold && !meta.IsStatusConditionFalse(c.Conditions, o.keys.Accepted) {
			patches = append(patches, o.withoutSet(c))
		}
	}
	err := o.show(ctx, patches)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: behindPause}, nil
	}
	return reconcile.Result{}, err
}

// withoutSet returns the patch that tells a route that there are no ListenerSets.
func (o *pass) withoutSet(c *plan.ObservedChannel) plan.ChannelPatch {
	message := textNoSets()
	patch := plan.ChannelPatch{Channel: c.Key,
		Events: []plan.Event{{Object: c.Key, Warning: true, Reason: NoListenerSets, Message: message}}}
	kinds := []string{o.keys.Programmed}
	if meta.FindStatusCondition(c.Conditions, o.keys.Accepted) == nil {
		kinds = append(kinds, o.keys.Accepted)
	}
	for _, kind := range kinds {
		patch.Conditions = append(patch.Conditions,
			metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: string(NoListenerSets), Message: message,
				LastTransitionTime: metav1.NewTime(o.Now().UTC().Truncate(time.Second))})
	}
	return patch
}
