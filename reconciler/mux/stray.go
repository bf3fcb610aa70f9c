package mux

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// A stray is a Service that was a channel once and isn't any more, or a mux that is on its way out. It may have ceased
// to be one while nobody was looking, and its mux may be long gone, so it is a matter of its own.

func (l *Line) onStray() handler.TypedEventHandler[*corev1.Service, reconcile.Request] {
	look := func(q queue, svc *corev1.Service) {
		if l.stray(svc) != nil {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(svc)})
		}
	}
	return handler.TypedFuncs[*corev1.Service, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Service], q queue) { look(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Service], q queue) { look(q, e.ObjectNew) },
	}
}

// stray is what to take off a Service; nil if it is none, or clean.
func (l *Line) stray(svc *corev1.Service) *plan.ChannelPatch {
	kind := l.Language.Classify(svc)
	if kind.Mux() && (svc.DeletionTimestamp != nil || !l.isMux(svc)) {
		return l.remnant(svc)
	}
	if kind != 0 {
		return nil
	}
	seen := plan.ReadChannel(l.Language, svc)
	return plan.Stray(l.Language.Keys(), &seen)
}

// remnant is what the original left on a mux that nothing is decided about any more: its finalizer would keep the Service
// from ever going.
func (l *Line) remnant(svc *corev1.Service) *plan.ChannelPatch {
	left := l.Language.Leftovers(svc)
	if left.Empty() {
		return nil
	}
	return &plan.ChannelPatch{
		Channel: client.ObjectKeyFromObject(svc), Leftovers: left, Why: []string{"what the original left goes"},
	}
}

func (l *Line) reconcileStray(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	svc, err := l.service(ctx, request.NamespacedName)
	if err != nil || svc == nil {
		return reconcile.Result{}, err
	}
	if patch := l.stray(svc); patch != nil {
		return l.patchAside(ctx, svc, patch)
	}
	return reconcile.Result{}, nil
}

// patchAside writes a Service that is no part of a mux that is looked after, unless somebody keeps changing it back: then it has to
// wait for its turn.
func (l *Line) patchAside(ctx context.Context, svc *corev1.Service, patch *plan.ChannelPatch) (reconcile.Result, error) {
	if turn := l.paces.Ask(patch.Channel, pace.Content(patch.Content), l.Now()); turn.Wait > 0 {
		return reconcile.Result{RequeueAfter: turn.Wait}, nil
	}
	_, err := l.writeAside(ctx, svc, patch)
	if err != nil {
		l.paces.Failed(patch.Channel)
	}
	return reconcile.Result{}, err
}

// writeAside is true if it wrote the Service: one that went meanwhile needs nothing any more.
func (l *Line) writeAside(ctx context.Context, svc *corev1.Service, patch *plan.ChannelPatch) (bool, error) {
	if l.Print != nil {
		l.Print(&plan.Plan{Mux: nowhere, Hide: []plan.ChannelPatch{*patch}})
		return false, nil
	}
	body, err := channelBody(patch, svc.UID, l.Language.Keys())
	if err != nil {
		return false, err
	}
	after := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: patch.Channel.Namespace, Name: patch.Channel.Name}}
	err = l.Writer.Status().Patch(ctx, after, client.RawPatch(types.StrategicMergePatchType, body))
	if apierrors.IsNotFound(err) || isAnother(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("status of %s: %w", patch.Channel, err)
	}
	l.Metrics.Wrote("channel")
	for _, event := range patch.Events {
		l.tell(svc, event)
	}
	l.trim(after)
	l.services.Put(after)
	return true, nil
}
