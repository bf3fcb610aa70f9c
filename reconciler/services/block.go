package services

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/reconciler/refusal"
)

// A mux is blocked while the API server refuses its ledger or all its ports. A blocked mux is frozen, and its channels
// learn why. From time to time a pass tries to write it: a trial. A trial sends no Events and counts no metrics until
// it has succeeded; otherwise each trial would repeat them.
//
//	refused ──▶ frozen ──longestBlock at most──▶ trial ──all written──▶ not blocked
//	               ▲                               │
//	               └───────────refused─────────────┘

// block is the reason why a mux can't be written, and when to try again.
type block struct {
	setback
	// reason is the reason for users. It is nil if the mux isn't blocked, or if the trouble may pass by itself.
	reason *plan.Blocked
	// since is when writes of the ledger or the mux began to fail.
	since time.Time
}

const (
	// longestBlock is the longest pause between two trials.
	longestBlock = frozenPause
	// blockAfter is how long the API server may answer with internal errors before the mux counts as blocked. A webhook
	// that doesn't answer causes such errors, possibly for days.
	blockAfter = 10 * time.Second
)

// active returns the block for a decision; nil once a trial is due.
func (b *block) active(now time.Time) *plan.Blocked {
	if b.until.Sub(now) > b.pause { // the clock was set back
		b.until = now
	}
	if now.Before(b.until) {
		return b.reason
	}
	b.until = time.Time{}
	return nil
}

// trial is true for a plan that tries to write a blocked mux.
func (b *block) trial(p *plan.Plan) bool { return b.reason != nil && p.Freeze == nil }

// block handles an error that kept the ledger or the mux from being written. If the error won't pass by itself, the mux
// is blocked, and the next pass comes at once to report that.
func (o *pass) block(ctx context.Context, ofLedger bool, why error) (time.Time, error) {
	if apierrors.IsConflict(why) || errors.Is(why, errBehind) {
		return time.Time{}, why
	}
	b, now := &o.memory.blocked, o.Now()
	if b.since.IsZero() {
		b.since = now
	}
	lasts := apierrors.IsInternalError(why) && now.Sub(b.since) >= blockAfter
	if !refusal.Is(why) && !lasts && !errors.Is(why, record.ErrUnwritable) {
		return time.Time{}, why
	}
	reason := &plan.Blocked{Ledger: ofLedger, Words: refusal.Words(why)}
	if b.reason == nil || b.reason.Ledger != ofLedger || !refusal.SameWords(b.reason.Words, reason.Words) {
		b.reason = reason
	}
	b.setback = b.next(now)
	if b.pause > longestBlock {
		b.setback = setback{until: now.Add(longestBlock), pause: longestBlock}
	}
	o.log(ctx).V(1).Info("the mux can't be written", "mux", o.world.Key, "error", why.Error())
	return now, nil
}

// unblock ends a block after a pass that wrote everything.
func (o *pass) unblock(p *plan.Plan) {
	if p.Freeze != nil {
		return
	}
	trial := o.memory.blocked.trial(p)
	o.memory.blocked = block{}
	if trial {
		o.Metrics.Decided(p, o.took)
		o.tellStanding(p)
	}
}

// logFrozen records whether the mux is frozen, and logs a change.
func (o *pass) logFrozen(ctx context.Context, p *plan.Plan) {
	now := ""
	if p.Freeze != nil {
		now = p.Freeze.Message
	}
	before, _ := o.memory.frozen.Swap(now).(string)
	switch {
	case before == now || o.world.Mux == nil:
	case now == "":
		o.log(ctx).Info("the mux isn't frozen any more", "mux", p.Mux, "was", before)
	default:
		o.log(ctx).Info("the mux is frozen", "mux", p.Mux, "reason", p.Freeze.Reason, "why", now)
	}
}

func textUnreadable(mux *plan.ObservedMux, why error) string {
	return fmt.Sprintf("the API server doesn't let ConfigMap %s be read: %s", mux.Ledger, refusal.Words(why))
}
