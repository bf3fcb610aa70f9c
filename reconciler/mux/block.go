package mux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// A mux for which the API server takes nothing is frozen: its channels are told why, and it is tried again and again. A
// pass that tries is a trial. As long as it isn't known how it ends, nothing is told and counted of it, or all would be
// told anew with each.
//
//	refused ──▶ frozen ──longestBlock at most──▶ trial ──all written──▶ on with it
//	               ▲                               │
//	               └───────────refused─────────────┘

// block is what keeps the whole mux from being written.
type block struct {
	setback
	// said is nil if nothing does, or if it may pass by itself.
	said *plan.Blocked
	// since is when it failed first.
	since time.Time
}

const (
	// longestBlock is the longest pause between two trials.
	longestBlock = frozenPause
	// lasting is how long the API server may have trouble of its own before that is told like a refusal. A webhook of
	// somebody's that doesn't answer is such a trouble, and may be for days.
	lasting = 10 * time.Second
)

// waits is what to decide by: nothing, once it is time to try again.
func (b *block) waits(now time.Time) *plan.Blocked {
	if b.until.Sub(now) > b.pause { // the clock was set back
		b.until = now
	}
	if now.Before(b.until) {
		return b.said
	}
	b.until = time.Time{}
	return nil
}

// trial is true for a pass that may be the end of a block.
func (o *observed) trial(p *plan.Plan) bool {
	return o.memory.blocked.said != nil && p.Freeze == nil
}

// block takes an error that kept the mux's ledger, or its ports, from being written. If it won't pass by itself, the next
// pass tells of it, and comes at once.
func (l *Line) block(ctx context.Context, o *observed, ofLedger bool, why error) (time.Time, error) {
	if apierrors.IsConflict(why) || errors.Is(why, errBehind) {
		return time.Time{}, why
	}
	b, now := &o.memory.blocked, l.Now()
	if b.since.IsZero() {
		b.since = now
	}
	lasts := reasonOf(why) == metav1.StatusReasonInternalError && now.Sub(b.since) >= lasting
	if !isRefusal(why) && !lasts && !errors.Is(why, ledger.ErrUnwritable) {
		return time.Time{}, why
	}
	if said := (&plan.Blocked{Ledger: ofLedger, Words: words(why)}); !sameBlock(b.said, said) {
		b.said = said
	}
	b.setback = b.again(now)
	if b.pause > longestBlock {
		b.setback = setback{until: now.Add(longestBlock), pause: longestBlock}
	}
	l.log(ctx).V(1).Info("the mux can't be written", "mux", o.world.Key, "error", why.Error())
	return now, nil
}

// unblock is for a pass that wrote all there was to write.
func (l *Line) unblock(o *observed, p *plan.Plan) {
	if p.Freeze != nil {
		return
	}
	trial := o.trial(p)
	o.memory.blocked = block{}
	if trial {
		l.Metrics.Decided(p, o.took)
		l.tellStanding(o, p)
	}
}

// sameBlock is true if there is nothing new to tell. What changes with each try, such as how much of a quota is used or
// the number of a request, isn't.
func sameBlock(a, b *plan.Blocked) bool {
	return a != nil && a.Ledger == b.Ledger && slices.Equal(lettered(a.Words), lettered(b.Words))
}

// lettered are the words of a text without digits in them.
func lettered(text string) []string {
	return slices.DeleteFunc(strings.Fields(text), func(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) })
}

// logFrozen notes whether the mux is frozen, and logs a change of that.
func (l *Line) logFrozen(ctx context.Context, o *observed, p *plan.Plan) {
	now := ""
	if p.Freeze != nil {
		now = p.Freeze.Message
	}
	before := o.memory.setFrozen(now)
	switch {
	case before == now || o.world.Mux == nil:
	case now == "":
		l.log(ctx).Info("the mux isn't frozen any more", "mux", p.Mux, "was", before)
	default:
		l.log(ctx).Info("the mux is frozen", "mux", p.Mux, "reason", p.Freeze.Reason, "why", now)
	}
}

func textUnreadable(mux *plan.ObservedMux, why error) string {
	return fmt.Sprintf("the API server doesn't let ConfigMap %s be read: %s", mux.Ledger, words(why))
}

// words are what the API server said, without our own around it, and no more of it than fits.
func words(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		text = status.Status().Message
	}
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "..."
	}
	return text
}

// maxWords has room for a refusal by the chart's own policies: its last words name the chart value that helps.
const maxWords = 600
