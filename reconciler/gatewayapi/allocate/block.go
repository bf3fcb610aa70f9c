package allocate

import (
	"errors"
	"time"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// A Gateway is blocked while the API server refuses its ledger, or the ledger's generation on it. A blocked Gateway is
// frozen, and its routes learn why. From time to time a pass tries again: a trial. A trial sends no Events about the
// Gateway until it has succeeded; otherwise each trial would repeat them.

// block blocks the Gateway if its ledger is too large, or the API server refuses a write. The next pass comes at once
// to report that.
func (o *pass) block(err error) error {
	if !refusal.Is(err) && !errors.Is(err, record.ErrUnwritable) {
		return err
	}
	o.memory.blocked = o.memory.blocked.next(o.Now(), frozenPause)
	if words := refusal.Words(err); !refusal.SameWords(o.memory.words, words) {
		o.memory.words = words
	}
	o.again = true
	return nil
}

// active returns why the Gateway is blocked; nil if it isn't, or if a trial is due.
func (m *memory) active(now time.Time) *plan.Blocked {
	if now.Before(m.blocked.until) {
		return &plan.Blocked{Ledger: true, Words: m.words}
	}
	m.blocked.until = time.Time{}
	return nil
}

// trial is true for a pass that tries to write the ledger of a blocked Gateway.
func (o *pass) trial(p *plan.Plan) bool {
	return p.Freeze == nil && o.memory.blocked.pause > 0
}

// unblock ends a block after a pass that wrote the ledger. A pass over a frozen Gateway writes none, and ends no block.
func (o *pass) unblock(p *plan.Plan) {
	if o.trial(p) {
		o.memory.blocked, o.memory.words = setback{}, ""
		o.tellStanding(p)
	}
}
