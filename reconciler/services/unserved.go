package services

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nowake.ai/svc-lb-mux/reconciler/controllers"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// An unserved mux is in a namespace that this process doesn't serve. It gets an Event and no writes.
//
// An unserved channel names a mux in such a namespace. If another reconciler serves that mux, it also writes the
// channel's conditions. If none does, the channel would wait forever without a reason: this process writes the reason.

// othersPatience is how long this process waits for another reconciler to write a channel's conditions.
const othersPatience = 10 * time.Second

// setupUnserved adds the controller for unserved muxes and channels. A process that serves all namespaces has none.
func (o outside) setupUnserved(m manager.Manager) error {
	if len(o.Namespaces) == 0 {
		return nil
	}
	return controllers.Add(m, "unserved", controller.Options{Reconciler: reconcile.Func(o.reconcileUnserved)},
		source.Kind(m.GetCache(), &corev1.Service{}, o.onUnserved()))
}

func (o outside) onUnserved() handler.TypedEventHandler[*corev1.Service, reconcile.Request] {
	look := func(q queue, svc *corev1.Service) {
		if o.isUnserved(svc) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(svc)})
		}
	}
	lookForMux := func(q queue, old, now *corev1.Service) {
		if o.isUnservedMux(now) && (old == nil || !o.isUnservedMux(old)) {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(now)}, othersPatience)
		}
	}
	return handler.TypedFuncs[*corev1.Service, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Service], q queue) {
			look(q, e.Object)
			lookForMux(q, nil, e.Object)
			if e.IsInInitialList && o.wasServed(e.Object) {
				o.tell(e.Object, plan.MuxServedBefore(client.ObjectKeyFromObject(e.Object), o.server()))
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Service], q queue) {
			look(q, e.ObjectNew)
			lookForMux(q, e.ObjectOld, e.ObjectNew)
		},
	}
}

func (o outside) isUnserved(svc *corev1.Service) bool {
	return o.Language.Classify(svc).Channel() && !o.LooksAfter(o.muxOf(svc))
}

// isUnservedMux is true for a mux that no reconciler has written: a reconciler writes the ledger's generation on each
// mux that it serves.
func (o outside) isUnservedMux(svc *corev1.Service) bool {
	return isElsewhere(svc) && svc.DeletionTimestamp == nil && svc.Annotations[o.Language.Keys().Generation] == ""
}

// wasServed is true for a mux outside of our namespaces that a reconciler has written to. It is another release's
// reconciler, or this one's before the mux's namespace was taken off --mux-namespaces. Nothing on the mux tells which,
// so onUnserved's Event names both. onUnserved sends it once, when the process begins to lead: --mux-namespaces changes
// only with a restart.
func (o outside) wasServed(svc *corev1.Service) bool {
	return isElsewhere(svc) && svc.DeletionTimestamp == nil && !o.isUnservedMux(svc)
}

func (o outside) reconcileUnserved(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	svc, err := o.Service(ctx, request.NamespacedName)
	if err != nil || svc == nil {
		return reconcile.Result{}, err
	}
	if o.isUnservedMux(svc) {
		o.tell(svc, plan.UnservedMux(request.NamespacedName, o.server()))
	}
	if !o.isUnserved(svc) {
		return reconcile.Result{}, nil
	}
	if wait := svc.CreationTimestamp.Add(othersPatience).Sub(o.Now()); wait > 0 && wait <= othersPatience {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	seen := plan.ReadChannel(o.Language, svc)
	patch := plan.Unserved(o.Language.Keys(), &seen, o.muxOf(svc), o.server(), o.Now())
	if patch == nil {
		return reconcile.Result{}, nil
	}
	again, err := o.patchOutside(ctx, svc, patch)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: behindPause}, nil // another reconciler wrote the channel's status meanwhile
	}
	return again, err
}

func (o outside) server() plan.Server { return plan.Server{Name: o.Name, Namespaces: o.Namespaces} }

// outsidePatch returns a patch that removes our fields from a Service before this reconciler is uninstalled, or nil.
func (o outside) outsidePatch(svc *corev1.Service) *plan.ChannelPatch {
	if patch := o.strayPatch(svc); patch != nil || !o.isUnserved(svc) {
		return patch
	}
	seen := plan.ReadChannel(o.Language, svc)
	return plan.NoLongerUnserved(o.Language.Keys(), &seen, o.server())
}
