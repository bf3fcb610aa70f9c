package services

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
)

// outside writes Services outside of the served muxes: strays, and channels of muxes that this process doesn't serve.
type outside struct{ *Line }

// A stray is a former channel, or a mux that is being deleted or is no mux any more. It has a controller of its own,
// because its mux may be long gone.

func (o outside) onStray(_ context.Context, q queue, old, now *corev1.Service) {
	switch {
	case now == nil:
		o.paces.Forget(client.ObjectKeyFromObject(old))
	case o.strayPatch(now) != nil:
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(now)})
	}
}

// strayPatch returns a patch that removes our fields from a stray; nil if the Service is no stray, or has no fields of
// ours.
func (o outside) strayPatch(svc *corev1.Service) *plan.ChannelPatch {
	kind := o.Language.Classify(svc)
	if kind.Mux() && (svc.DeletionTimestamp != nil || !o.isMux(svc)) {
		return o.leftoversPatch(svc)
	}
	if kind != 0 {
		return nil
	}
	seen := plan.ReadChannel(o.Language, svc)
	return plan.Stray(o.Language.Keys(), &seen)
}

// leftoversPatch removes the original's leftovers from a mux that is no longer reconciled: the finalizer would block
// its deletion.
func (o outside) leftoversPatch(svc *corev1.Service) *plan.ChannelPatch {
	left := o.Language.Leftovers(svc)
	if left.Empty() {
		return nil
	}
	return &plan.ChannelPatch{
		Channel: client.ObjectKeyFromObject(svc), Leftovers: left, Why: []string{"what the original left goes"},
	}
}

func (o outside) reconcileStray(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	svc, err := o.Service(ctx, request.NamespacedName)
	if err != nil || svc == nil {
		return reconcile.Result{}, err
	}
	if patch := o.strayPatch(svc); patch != nil {
		return o.patchOutside(ctx, svc, patch)
	}
	return reconcile.Result{}, nil
}

// patchOutside writes a Service outside of the served muxes. If another writer keeps changing it back, the write waits
// for its turn.
func (o outside) patchOutside(ctx context.Context, svc *corev1.Service, patch *plan.ChannelPatch) (reconcile.Result,
	error) {
	if turn := o.paces.Ask(patch.Channel, pace.Content(patch.Content), o.Now()); turn.Wait > 0 {
		return reconcile.Result{RequeueAfter: turn.Wait}, nil
	}
	_, err := o.writeOutside(ctx, svc, patch)
	if err != nil {
		o.paces.Failed(patch.Channel)
	}
	return reconcile.Result{}, err
}

// writeOutside returns true if it wrote the Service. A deleted Service needs no write.
func (o outside) writeOutside(ctx context.Context, svc *corev1.Service, patch *plan.ChannelPatch) (bool, error) {
	if o.Print != nil {
		o.Print(&plan.Plan{Mux: noMux, Hide: []plan.ChannelPatch{*patch}})
		return false, nil
	}
	wrote, err := o.patchStatus(ctx, svc, patch)
	if err != nil {
		return false, fmt.Errorf("status of %s: %w", patch.Channel, err)
	}
	return wrote, nil
}
