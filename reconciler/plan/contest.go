package plan

import (
	"slices"
	"time"
)

// contest is for a mux that somebody keeps changing back, until it is its turn again: what doesn't hang on its ports goes
// on, and channels say which of them miss theirs meanwhile.
func (p *pass) contest() {
	publish := p.plan.Publish
	if p.w.Contested.IsZero() || publish == nil || !publish.Drift {
		return
	}
	p.contested = true
	p.say(Event{Object: p.w.Key, Warning: true, Reason: Contested, Message: textContested(p.w.Contested, publish.Why)})
	p.plan.Publish, p.plan.Settle = nil, nil
	for _, c := range p.sorted {
		c.deferred = false // what was to be so once this pass is done isn't
	}
	if !p.again.After(p.now) {
		p.again = time.Time{}
	}
	p.lookAgain(p.w.Contested)
}

// misses is true for a channel whose ports aren't all on the mux, because it is contested, or because the API server doesn't
// take them back.
func (p *pass) misses(c *member) bool {
	if p.lacks(c) != nil {
		return true
	}
	return p.contested && slices.ContainsFunc(c.claims, func(claim *Claim) bool {
		return claim.State == Held && p.published(claim) && !p.live.has(claim)
	})
}

// lacks is the first claim of a channel that the API server doesn't take back; nil if there is none.
func (p *pass) lacks(c *member) *Claim {
	if len(p.leftOff) > 0 {
		for _, claim := range c.claims {
			if p.leftOff[claim] {
				return claim
			}
		}
	}
	return nil
}
