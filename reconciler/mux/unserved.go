package mux

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

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// An unserved mux is in a namespace that this process doesn't serve. It gets an Event and no writes.
//
// An unserved channel names a mux in such a namespace. If another reconciler serves that mux, it also writes the
// channel's conditions. If none does, the channel would wait forever without a reason: this process writes one.

// othersPatience is how long this process waits for another reconciler to write a channel's conditions.
const othersPatience = 10 * time.Second

// setupUnserved adds the controller for unserved muxes and channels. A process that serves all namespaces has none.
func (l *Line) setupUnserved(m manager.Manager) error {
	if len(l.Namespaces) == 0 {
		return nil
	}
	unserved, err := controller.New("unserved", m, controller.Options{Reconciler: reconcile.Func(l.reconcileUnserved), RateLimiter: retries()})
	if err != nil {
		return err
	}
	return unserved.Watch(source.Kind(m.GetCache(), &corev1.Service{}, l.onUnserved()))
}

func (l *Line) onUnserved() handler.TypedEventHandler[*corev1.Service, reconcile.Request] {
	look := func(q queue, svc *corev1.Service) {
		if l.isUnserved(svc) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(svc)})
		}
	}
	lookForMux := func(q queue, old, now *corev1.Service) {
		if l.isUnservedMux(now) && (old == nil || !l.isUnservedMux(old)) {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(now)}, othersPatience)
		}
	}
	return handler.TypedFuncs[*corev1.Service, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Service], q queue) {
			look(q, e.Object)
			lookForMux(q, nil, e.Object)
			if e.IsInInitialList && l.isServedBefore(e.Object) {
				l.tell(e.Object, plan.MuxServedBefore(client.ObjectKeyFromObject(e.Object), l.server()))
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Service], q queue) {
			look(q, e.ObjectNew)
			lookForMux(q, e.ObjectOld, e.ObjectNew)
		},
	}
}

func (l *Line) isUnserved(svc *corev1.Service) bool {
	return l.Language.Classify(svc).Channel() && !l.LooksAfter(l.muxOf(svc))
}

// isUnservedMux is true for a mux that no reconciler has written: a reconciler writes the ledger's generation on each
// mux that it serves.
func (l *Line) isUnservedMux(svc *corev1.Service) bool {
	return isElsewhere(svc) && svc.DeletionTimestamp == nil && svc.Annotations[l.Language.Keys().Generation] == ""
}

// isServedBefore is true for a mux elsewhere that a reconciler has written to: another release's, or this one's until the mux's
// namespace was taken off the list. Nothing on the mux tells which, so the Event names both. It is sent once, when the process
// begins to lead: the list changes only with a restart.
func (l *Line) isServedBefore(svc *corev1.Service) bool {
	return isElsewhere(svc) && svc.DeletionTimestamp == nil && !l.isUnservedMux(svc)
}

func (l *Line) reconcileUnserved(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	svc, err := l.service(ctx, request.NamespacedName)
	if err != nil || svc == nil {
		return reconcile.Result{}, err
	}
	if l.isUnservedMux(svc) {
		l.tell(svc, plan.UnservedMux(request.NamespacedName, l.server()))
	}
	if !l.isUnserved(svc) {
		return reconcile.Result{}, nil
	}
	if wait := svc.CreationTimestamp.Add(othersPatience).Sub(l.Now()); wait > 0 && wait <= othersPatience {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	seen := plan.ReadChannel(l.Language, svc)
	patch := plan.Unserved(l.Language.Keys(), &seen, l.muxOf(svc), l.server(), l.Now())
	if patch == nil {
		return reconcile.Result{}, nil
	}
	again, err := l.patchOutside(ctx, svc, patch)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: behindPause}, nil // another reconciler wrote its status meanwhile
	}
	return again, err
}

func (l *Line) server() plan.Server { return plan.Server{Name: l.Name, Namespaces: l.Namespaces} }

// outsidePatch returns a patch that removes our fields from a Service before this reconciler is uninstalled, or nil.
func (l *Line) outsidePatch(svc *corev1.Service) *plan.ChannelPatch {
	if patch := l.strayPatch(svc); patch != nil || !l.isUnserved(svc) {
		return patch
	}
	seen := plan.ReadChannel(l.Language, svc)
	return plan.NoLongerUnserved(l.Language.Keys(), &seen, l.server())
}
