package ledger

import (
	"context"
	"fmt"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Peek returns the ledger of a mux for those who only look: bad news isn't confirmed, and a ledger that the cache doesn't
// show is Missing. A version that nobody has read yet is read live, once. Unlike Read it may be called at any time, beside
// whoever reads and writes, and what they go by stays as it is.
func (s *Store) Peek(ctx context.Context, ask Ask) (plan.Reading, error) {
	reading, err := s.peek(ctx, ask)
	reading.Above = s.ahead(&Entry{Reading: reading, ask: ask})
	return reading, err
}

func (s *Store) peek(ctx context.Context, ask Ask) (plan.Reading, error) {
	shown, err := s.shown(ctx, ask)
	if err != nil {
		return plan.Reading{}, err
	}
	known := s.recall(ask.Mux)
	switch latest, peeked := known.latest, known.peeked; {
	case latest != nil && latest.at.name == ask.Name && (shown == nil || latest.covers(shown)):
		return latest.copy(), nil
	case shown == nil:
		return plan.Reading{Condition: plan.Missing, Name: ask.Name}, nil
	case peeked != nil && peeked.at.name == ask.Name && peeked.covers(shown):
		return peeked.copy(), nil
	}
	cm, err := get(ctx, s.live, key(ask.Mux, ask.Name))
	if err != nil {
		return plan.Reading{}, fmt.Errorf("the ledger of mux %s: %w", ask.Mux, err)
	}
	if cm == nil {
		return plan.Reading{Condition: plan.Missing, Name: ask.Name}, nil
	}
	read := s.read(cm, ask)
	s.remember(ask.Mux, func(m *memory) { m.peeked = read })
	return read.copy(), nil
}
