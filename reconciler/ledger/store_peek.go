package ledger

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Peek returns the ledger of a mux as it is known without a request, for those who only look: bad news isn't confirmed,
// and a ledger that the cache doesn't show is Missing. Unlike Read it may be called at any time, beside whoever reads and
// writes, and what they go by stays as it is.
func (s *Store) Peek(ctx context.Context, ask Ask) (plan.Reading, error) {
	cm, err := get(ctx, s.cache, key(ask.Mux, ask.Name))
	if err != nil {
		return plan.Reading{}, fmt.Errorf("the ledger of mux %s, in the cache: %w", ask.Mux, err)
	}
	if latest := s.recall(ask.Mux).latest; latest != nil && latest.Name == ask.Name {
		if cm == nil {
			cm = latest
		} else if order, err := resourceversion.CompareResourceVersion(cm.ResourceVersion, latest.ResourceVersion); err == nil && order < 0 {
			cm = latest
		}
	}
	if cm == nil {
		return plan.Reading{Condition: plan.Missing, Name: ask.Name}, nil
	}
	return s.entry(cm, ask).Reading, nil
}
