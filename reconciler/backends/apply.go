package backends

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// applied is the result of a decision.
type applied struct {
	// again is the pause until the next pass; 0 if the next change wakes it.
	again   time.Duration
	refused wordsOfSlices
}

// apply carries out the steps in their order. A slice that can't be written doesn't stop the others.
func (l *line) apply(ctx context.Context, decided *project.Decision) (applied, error) {
	before := l.Reports.refused(decided.Channel)
	out := applied{refused: wordsOfSlices{}}
	refuse := func(key types.NamespacedName, words string, e plan.Event) {
		if out.refused[key] = words; words != before[key] {
			e.Object, e.Warning = decided.Mux, true
			l.Tell(e)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(decided.Taken), plan.CompareKeys) {
		refuse(key, decided.Taken[key], plan.Event{Reason: plan.SliceNameTaken, Message: decided.Taken[key]})
		out.again = sooner(out.again, nameTaken)
	}
	var failed []error
	for i := range decided.Steps {
		step := &decided.Steps[i]
		key := client.ObjectKeyFromObject(step.Slice)
		if words := before[key]; words != "" {
			out.refused[key] = words // until a write of the slice succeeds
		}
		wait, err := l.carryOut(ctx, decided.Mux, step)
		out.again = sooner(out.again, wait)
		switch {
		case err != nil && (refusal.Is(err) || apierrors.IsInternalError(err)):
			// an admission webhook that can't be reached gives an internal error
			words := refusal.Words(err)
			if refusal.SameWords(words, before[key]) {
				words = before[key] // the words may count a quota's use: a new count must not cause a write of the condition
			}
			refuse(key, words, plan.Event{Reason: plan.BackendsRefused, Message: step.RefusedMessage(decided.Channel, words)})
			fallthrough
		case err != nil:
			failed = append(failed, fmt.Errorf("%s EndpointSlice %s: %w", step.Op, key, err))
		case wait == patience:
			delete(out.refused, key)
		}
	}
	return out, errors.Join(failed...)
}
