package plan

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
	p.lookAgain(p.w.Contested)
}

// misses is true for a channel whose ports aren't all on the mux, because it is contested.
func (p *pass) misses(c *member) bool {
	if !p.contested {
		return false
	}
	for _, claim := range c.claims {
		if claim.State == Held && p.published(claim) && !p.live.has(claim) {
			return true
		}
	}
	return false
}
