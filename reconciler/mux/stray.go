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

// A stray is a former channel, or a mux that is being deleted or is no mux any more. It has a controller of its own,
// because its mux may be long gone.

func (l *Line) onStray() handler.TypedEventHandler[*corev1.Service, reconcile.Request] {
	look := func(q queue, svc *corev1.Service) {
		if l.strayPatch(svc) != nil {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(svc)})
		}
	}
	return handler.TypedFuncs[*corev1.Service, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Service], q queue) { look(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Service], q queue) { look(q, e.ObjectNew) },
	}
}

// strayPatch returns a patch that removes our fields from a stray; nil if the Service is no stray, or has none.
func (l *Line) strayPatch(svc *corev1.Service) *plan.ChannelPatch {
	kind := l.Language.Classify(svc)
	if kind.Mux() && (svc.DeletionTimestamp != nil || !l.isMux(svc)) {
		return l.leftoversPatch(svc)
	}
	if kind != 0 {
		return nil
	}
	seen := plan.ReadChannel(l.Language, svc)
	return plan.Stray(l.Language.Keys(), &seen)
}

// leftoversPatch removes the original's leftovers from a mux that is no longer reconciled: the finalizer would block its
// deletion.
func (l *Line) leftoversPatch(svc *corev1.Service) *plan.ChannelPatch {
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
	if patch := l.strayPatch(svc); patch != nil {
		return l.patchOutside(ctx, svc, patch)
	}
	return reconcile.Result{}, nil
}

// patchOutside writes a Service outside of the served muxes. If another writer keeps changing it back, it waits for its
// turn.
func (l *Line) patchOutside(ctx context.Context, svc *corev1.Service, patch *plan.ChannelPatch) (reconcile.Result, error) {
	if turn := l.paces.Ask(patch.Channel, pace.Content(patch.Content), l.Now()); turn.Wait > 0 {
		return reconcile.Result{RequeueAfter: turn.Wait}, nil
	}
	_, err := l.writeOutside(ctx, svc, patch)
	if err != nil {
		l.paces.Failed(patch.Channel)
	}
	return reconcile.Result{}, err
}

// writeOutside returns true if it wrote the Service. A deleted Service needs no write.
func (l *Line) writeOutside(ctx context.Context, svc *corev1.Service, patch *plan.ChannelPatch) (bool, error) {
	if l.Print != nil {
		l.Print(&plan.Plan{Mux: noMux, Hide: []plan.ChannelPatch{*patch}})
		return false, nil
	}
	body, err := channelBody(patch, svc.UID, l.Language.Keys())
	if err != nil {
		return false, err
	}
	after := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: patch.Channel.Namespace, Name: patch.Channel.Name}}
	err = l.Writer.Status().Patch(ctx, after, client.RawPatch(types.StrategicMergePatchType, body))
	if apierrors.IsNotFound(err) || isRecreated(err) {
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
