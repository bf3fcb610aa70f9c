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

// publish patches the mux. It returns true if channels were refused, so that there is another plan to make.
func (l *Line) publish(ctx context.Context, o *observed, p *plan.Plan) (bool, error) {
	if p.Publish == nil {
		return false, nil
	}
	patch := *p.Publish
	whole := true
	for _, part := range l.dispensable(o) {
		if l.Now().Before(part.later.until) {
			patch, whole = part.without(patch), false
		}
	}
	if isEmpty(&patch) {
		return false, nil
	}
	err := l.patchMux(ctx, o, &patch)
	switch {
	case err == nil:
		l.tellPublished(o, &patch, whole)
		return false, nil
	case !isRefusal(err):
		return false, err
	}
	return l.publishInParts(ctx, o, p, patch, err)
}

// tellPublished tells of a patch that was made, with or without what is written for people.
func (l *Line) tellPublished(o *observed, patch *plan.MuxPatch, whole bool) {
	for _, event := range patch.Events {
		if whole || event.Reason != plan.MuxAnnotationsUpdated {
			l.tell(o.service, event)
		}
	}
}

func (l *Line) patchMux(ctx context.Context, o *observed, patch *plan.MuxPatch, how ...client.PatchOption) error {
	body, err := muxBody(patch, o.service.Finalizers)
	if err != nil {
		return err
	}
	key := o.world.Key
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err = l.Writer.Patch(ctx, svc, client.RawPatch(types.MergePatchType, body), how...)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("mux %s: %w", key, errBehind)
	case err != nil:
		return fmt.Errorf("ports of mux %s: %w", key, err)
	}
	if len(how) > 0 { // a dry run
		return nil
	}
	l.Metrics.Wrote("mux")
	l.calm.wrote(key, l.Now())
	l.wrote(o.service, svc)
	o.service = svc
	return nil
}

// isRefusal is true for what the API server won't take however often it is tried. What may pass by itself isn't told of
// anybody's channel: that the API server is busy, or behind, or has trouble of its own.
func isRefusal(err error) bool {
	switch reasonOf(err) {
	case metav1.StatusReasonInvalid, metav1.StatusReasonForbidden, metav1.StatusReasonBadRequest,
		metav1.StatusReasonRequestEntityTooLarge:
		return true
	}
	return isOutOfNodePorts(err)
}

// isOutOfNodePorts is true for a mux that takes node ports where none is left for all that it is to get. The API server
// calls that an internal error, and only its words tell it from one. Another channel may still fit.
func isOutOfNodePorts(err error) bool {
	return reasonOf(err) == metav1.StatusReasonInternalError && strings.Contains(err.Error(), "failed to allocate a nodePort")
}

// isTooMuch is true where the size of an object may be why it was refused. Node ports that have run out are no reason to
// leave anything else out.
func isTooMuch(err error) bool { return isRefusal(err) && !isOutOfNodePorts(err) }

func reasonOf(err error) metav1.StatusReason {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.StatusReasonUnknown
	}
	return status.Status().Reason
}
