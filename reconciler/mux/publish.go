package mux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// publish patches the mux. It returns true if channels were refused, so that another plan must be made.
func (o *pass) publish(ctx context.Context, p *plan.Plan) (bool, error) {
	if p.Publish == nil {
		return false, nil
	}
	patch := *p.Publish
	whole := true
	for _, part := range o.optionalParts() {
		if o.Now().Before(o.memory.setbacks[write{what: part.what}].until) {
			patch, whole = part.without(patch), false
		}
	}
	if isEmpty(&patch) {
		return false, nil
	}
	err := o.patchMux(ctx, &patch)
	switch {
	case err == nil:
		o.tellPublished(&patch, whole)
		return false, nil
	case !isRefusal(err):
		return false, err
	}
	return o.publishInParts(ctx, p, patch, err)
}

// tellPublished sends the Events of a patch. Unless it was written as a whole, it sends none about annotations.
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

// isRefusal is true for an error that retries don't overcome. A busy or failing API server isn't a refusal, so no
// channel is blamed for that.
func isRefusal(err error) bool {
	switch reasonOf(err) {
	case metav1.StatusReasonInvalid, metav1.StatusReasonForbidden, metav1.StatusReasonBadRequest,
		metav1.StatusReasonRequestEntityTooLarge:
		return true
	}
	return isOutOfNodePorts(err)
}

// isOutOfNodePorts is true if the cluster has too few free node ports for the patch. The API server reports an internal
// error, and only its message tells the cause. Fewer channels may still fit.
func isOutOfNodePorts(err error) bool {
	return reasonOf(err) == metav1.StatusReasonInternalError && strings.Contains(err.Error(), "failed to allocate a nodePort")
}

// mayBeTooLarge is true if the size of the object may be the cause of the refusal. Without node ports, leaving out
// annotations doesn't help.
func mayBeTooLarge(err error) bool { return isRefusal(err) && !isOutOfNodePorts(err) }

func reasonOf(err error) metav1.StatusReason {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.StatusReasonUnknown
	}
	return status.Status().Reason
}
