package backends

import (
	"context"
	"encoding/json"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
)

// carryOut writes one step, unless the correction of a drift must wait. It returns how long to wait for the next pass.
// After a write it returns patience: the cache may never show the write.
func (l *line) carryOut(ctx context.Context, mux types.NamespacedName, step *project.Step) (time.Duration, error) {
	key := client.ObjectKeyFromObject(step.Slice)
	var wanted any // deletions are all alike
	if step.Op != project.Delete {
		wanted = step.Slice
	}
	turn := l.pace.Ask(key, pace.ContentOf(wanted), l.Now())
	if turn.Wait > 0 {
		return turn.Wait, nil
	}
	if err := l.write(ctx, step); err != nil {
		l.pace.Failed(key)
		switch {
		case apierrors.IsNotFound(err) && step.Op == project.Delete: // it is gone, and the cache is stale
			return patience, nil
		case !isStale(err):
			return 0, err
		}
		l.written.Forget(key)
		log.FromContext(ctx).V(1).Info("The cache is stale: a slice has changed", "slice", key, "step", step.Op.String())
		return l.retries.When(key), nil
	}
	l.retries.Forget(key)
	l.Metrics.wrote(mux, step.Op, turn.Drift && !turn.First)
	if turn.First {
		l.Tell(plan.Event{Object: mux, Warning: true, Reason: plan.MuxDriftCorrected, Message: step.DriftMessage()})
	}
	log.FromContext(ctx).V(1).Info("Wrote a slice", "step", step.Op.String(), "slice", key, "mux", mux, "why", step.Why)
	return patience, nil
}

// isStale is true for the answers to a write that was decided from a stale cache.
func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func (l *line) write(ctx context.Context, step *project.Step) error {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: step.Slice.Namespace,
		Name: step.Slice.Name}}
	var err error
	switch step.Op {
	case project.Create:
		slice = step.Slice.DeepCopy() // the client reads the answer into it, and the step shares endpoints with the cache
		err = l.Writer.Create(ctx, slice)
	case project.Update:
		err = merge(ctx, l.Writer, slice, bodyOf(step))
	case project.Delete:
		err = l.Writer.Delete(ctx, slice, client.Preconditions{UID: &step.UID, ResourceVersion: &step.ResourceVersion})
		if client.IgnoreNotFound(err) == nil {
			l.written.Delete(step.Slice)
		}
		return err
	}
	if err != nil {
		return err
	}
	slice.ManagedFields = nil
	l.written.Put(slice)
	return nil
}

// bodyOf returns a merge patch of everything that is ours. The patch has the resource version from the decision: if the
// cache was stale, the write ends in a conflict and undoes nothing. An update instead of a patch would remove what the
// cache doesn't keep, and what other writers put on our slices.
func bodyOf(step *project.Step) map[string]any {
	slice := step.Slice
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": step.ResourceVersion, "labels": slice.Labels,
			"annotations": slice.Annotations, "ownerReferences": slice.OwnerReferences},
		"ports":     slice.Ports,
		"endpoints": append([]discoveryv1.Endpoint{}, slice.Endpoints...), // nil would become null, which is no list
	}
}

// merge sends a merge patch. The client reads the answer into the object.
func merge(ctx context.Context, writer client.Writer, object client.Object, body map[string]any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return writer.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
}
