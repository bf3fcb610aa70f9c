package services

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// publish patches the mux. It returns true if channels were refused, so that another plan must be made.
func (o *pass) publish(ctx context.Context, p *plan.Plan) (bool, error) {
	if p.Publish == nil {
		return false, nil
	}
	patch := *p.Publish
	whole := true
	for _, part := range optionalParts(o.Language.Keys(), o.service.Annotations) {
		if o.Now().Before(o.memory.setbacks[write{what: part.what}].until) {
			patch, whole = part.without(patch), false
		}
	}
	if isEmpty(&patch) { // everything is left out: the mux isn't written, and to write it later is no drift
		o.giveTurnBack(p)
		return false, nil
	}
	err := o.patchMux(ctx, &patch)
	switch {
	case err == nil:
		o.tellPublished(&patch, whole)
		return false, nil
	case !refusal.Is(err):
		return false, err
	}
	return o.publishInParts(ctx, p, patch, err)
}

// tellPublished sends the Events of a patch. It sends none about annotations unless the whole patch was written.
func (o *pass) tellPublished(patch *plan.MuxPatch, whole bool) {
	for _, event := range patch.Events {
		if whole || event.Reason != plan.MuxAnnotationsUpdated {
			o.tell(o.service, event)
		}
	}
}

func (o *pass) patchMux(ctx context.Context, patch *plan.MuxPatch, how ...client.PatchOption) error {
	body, err := muxBody(patch, o.service.Finalizers)
	if err != nil {
		return err
	}
	key := o.world.Key
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err = o.Writer.Patch(ctx, svc, client.RawPatch(types.MergePatchType, body), how...)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("mux %s: %w", key, errBehind)
	case err != nil:
		return fmt.Errorf("ports of mux %s: %w", key, err)
	}
	if len(how) > 0 { // a dry run
		return nil
	}
	o.Metrics.Wrote("mux")
	o.debounce.wrote(key, o.Now())
	o.rememberWrite(svc)
	o.service = svc
	return nil
}

// mayBeTooLarge is true if the size of the object may be the cause of the refusal. It is false if the cluster
// has no node port left: a smaller object doesn't help then.
func mayBeTooLarge(err error) bool { return refusal.Is(err) && !refusal.OutOfNodePorts(err) }
