package backends

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// applied is what came of a plan.
type applied struct {
	// again is when to look again if not all is done; 0 means when something changes.
	again time.Duration
	// refused are the slices that the API server doesn't take.
	refused wordsOfSlices
}

// apply carries out the steps in their order. A slice that can't be written doesn't keep the others from it.
func (l *line) apply(ctx context.Context, decided *muxslices.Decision) (applied, error) {
	var again time.Duration
	var failed []error
	before, refused := l.Refusals.of(decided.Channel), wordsOfSlices{}
	quarrels := map[types.NamespacedName]*quarrel{}
	for i := range decided.Steps {
		step := &decided.Steps[i]
		key := client.ObjectKeyFromObject(step.Slice)
		if quarrels[key] == nil {
			quarrels[key] = l.quarrel(key, step)
		}
		q := quarrels[key]
		if words := before[key]; words != "" {
			refused[key] = words // until a write of the slice succeeds
		}
		if q.wait > 0 {
			again = sooner(again, q.wait)
			continue
		}
		err := l.write(ctx, decided, step)
		switch {
		case err == nil:
			again = sooner(again, patience)
			delete(refused, key)
			l.tellOnce(q, decided.Mux, step)
			continue
		case isStale(err):
			l.written.Forget(key)
			q.wait = l.stale.When(key)
			log.FromContext(ctx).V(1).Info("A slice has changed meanwhile", "slice", key, "step", step.Op.String())
		default:
			q.wait = lastRetry // what follows of the same slice would fail, too
			if isRefusal(err) {
				refused[key] = wordsOf(err, before[key])
				l.tellRefused(decided.Channel, step, refused[key], before[key])
			}
			failed = append(failed, fmt.Errorf("%s EndpointSlice %s: %w", step.Op, key, err))
		}
		again = sooner(again, q.wait)
	}
	return applied{again, refused}, errors.Join(failed...)
}

// tellRefused tells the mux's owner once of each answer.
func (l *line) tellRefused(channel types.NamespacedName, step *muxslices.Step, words, before string) {
	if words == before {
		return
	}
	l.Tell(plan.Event{Object: muxslices.MuxOfSlice(l.keys, step.Slice), Warning: true, Reason: plan.BackendsRefused,
		Message: step.RefusedMessage(channel, words)})
}

// quarrel is how a slice stands in this pass: how long it has to wait, and whether a correction is news.
type quarrel struct {
	wait time.Duration
	news bool
	// again is a correction that is none, and isn't counted yet.
	again bool
}

func (l *line) quarrel(key types.NamespacedName, step *muxslices.Step) *quarrel {
	if step.Stray {
		if wait := l.strays.wait(key, l.Now()); wait > 0 {
			return &quarrel{wait: wait}
		}
	}
	if !step.Drift {
		return &quarrel{}
	}
	wait, first := l.fights.Allow(key, l.Now())
	return &quarrel{wait: wait, news: first, again: !first}
}

func (l *line) tellOnce(q *quarrel, mux types.NamespacedName, step *muxslices.Step) {
	if q.again {
		q.again = false
		l.Metrics.again(mux)
	}
	if q.news {
		q.news = false
		l.Tell(plan.Event{Object: mux, Warning: true, Reason: plan.MuxDriftCorrected, Message: step.DriftMessage()})
	}
}

// isStale is true for the answers that a decision from an old cache gets.
func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// write carries out one step.
func (l *line) write(ctx context.Context, decided *muxslices.Decision, step *muxslices.Step) error {
	key := client.ObjectKeyFromObject(step.Slice)
	switch step.Op {
	case muxslices.Create:
		slice := step.Slice.DeepCopy() // the answer is read into it, and it shares with the cache
		if err := l.Writer.Create(ctx, slice); err != nil {
			return err
		}
		l.keep(slice)
	case muxslices.Update:
		patch, err := patchOf(step)
		if err != nil {
			return err
		}
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := l.Writer.Patch(ctx, slice, patch); err != nil {
			return err
		}
		l.keep(slice)
	case muxslices.Delete:
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		err := l.Writer.Delete(ctx, slice, client.Preconditions{UID: &step.UID, ResourceVersion: &step.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		l.written.Delete(step.Slice)
	}
	l.stale.Forget(key)
	l.Metrics.wrote(muxslices.MuxOfSlice(l.keys, step.Slice), step.Op)
	log.FromContext(ctx).V(1).Info("Wrote a slice", "step", step.Op.String(), "slice", key, "mux", decided.Mux, "why", step.Why)
	return nil
}

func (l *line) keep(slice *discoveryv1.EndpointSlice) {
	slice.ManagedFields = nil
	l.written.Put(slice)
}

// patchOf says what differs, and from which version that was decided: a conflict is better than undoing what isn't
// known yet. It is a merge patch, not an update: the cache drops parts of objects, and whatever others put on our
// slices, known to this version of ours or not, stays as it is.
func patchOf(step *muxslices.Step) (client.Patch, error) {
	metadata := map[string]any{"resourceVersion": step.ResourceVersion}
	body := map[string]any{"metadata": metadata}
	if step.Differs.Labels {
		metadata["labels"] = step.Slice.Labels
	}
	if step.Differs.Annotations {
		metadata["annotations"] = step.Slice.Annotations
	}
	if step.Differs.Owners {
		metadata["ownerReferences"] = step.Slice.OwnerReferences
	}
	if step.Differs.Ports {
		body["ports"] = step.Slice.Ports
	}
	if step.Differs.Endpoints {
		body["endpoints"] = append([]discoveryv1.Endpoint{}, step.Slice.Endpoints...) // none is a list, too
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, data), nil
}
