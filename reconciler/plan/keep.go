package plan

import (
	"slices"
	"time"

	"nowake.ai/svc-lb-mux/validation"
)

// keep decides about channels that have ports. Incumbents come before newcomers: first all incumbents release the numbers that they don't ask for any more, then
// those that ask for something else get it, the oldest first.
func (p *pass) keep() {
	p.confirmAbsent()
	p.endGraces()
	edits := map[*channel]*edit{}
	var asking []*channel
	for _, c := range p.channels {
		if !c.isHeld() {
			continue
		}
		if no := p.shutsOut(c); no != nil {
			c.refuse(no)
			p.release(c.claims...)
			continue
		}
		p.yield(c)
		e := p.compare(c)
		p.release(e.left...)
		if len(e.wanted) > 0 {
			asking, edits[c] = append(asking, c), e
			continue
		}
		p.judgeIncumbent(c, nil)
	}
	for _, c := range byAge(asking) {
		p.judgeIncumbent(c, edits[c])
		if c.refusal != nil && c.refusal.isAboutPorts() {
			p.refusedEdits = append(p.refusedEdits, edits[c])
		}
	}
}

// confirmAbsent releases the claims of channels that are gone. A channel that isn't in the cache keeps its claims until a live read
// says that it is gone.
func (p *pass) confirmAbsent() {
	for key, claims := range p.absent {
		if p.m.Stuck[key] && slices.ContainsFunc(claims, p.live.has) {
			p.lookAgain(p.now.Add(time.Second)) // nobody waits for its status once it is gone
		}
		if !slices.ContainsFunc(claims, (*Claim).held) {
			continue
		}
		switch p.w.Live[key] {
		case Gone:
			p.release(claims...)
		case Unasked:
			p.plan.Confirm = append(p.plan.Confirm, key)
		case Present:
		}
	}
}

// shutsOut says why a channel may have no ports; nil if it may.
func (p *pass) shutsOut(c *channel) *refusal {
	switch {
	case c.Deleting:
		return &refusal{reason: NotAccepted, message: textDeleting()}
	case !p.allowed.namespace(c.Key.Namespace):
		return &refusal{reason: NamespaceNotAllowed, message: textNamespace(p.w.Mux, c.Key.Namespace)}
	}
	return nil
}

// yield gives up numbers that the channel holds and doesn't use, and that the mux's owner uses now.
func (p *pass) yield(c *channel) {
	for _, claim := range c.claims {
		if _, foreign := p.foreign[claim.Slot()]; foreign && !p.live.has(claim) && (c.Disabled || !p.isPublished(claim)) {
			p.release(claim)
		}
	}
}

// judgeIncumbent grants or refuses the edit of a channel that has ports. Without an edit, the channel is accepted unless it has problems.
func (p *pass) judgeIncumbent(c *channel, e *edit) {
	no := p.refuseIncumbent(c, e)
	if no == nil {
		p.accept(c)
	} else {
		c.refuse(no)
	}
	c.attached = c.isHeld() && slices.ContainsFunc(c.claims, p.isPublished)
	if c.Disabled && (c.isHeld() || len(c.Problems) == 0) {
		off := &refusal{reason: Disabled, message: textDisabled(p.w.Keys.Disabled, c.isHeld())}
		if no != nil && c.isHeld() { // it may change its numbers while it is disabled, and the next pass may have the number for it
			off.slot, off.usedUp, off.until = no.slot, no.usedUp, no.until
		}
		c.refuse(off)
		c.attached, c.notes = false, nil
	}
}

func (p *pass) refuseIncumbent(c *channel, e *edit) *refusal {
	said := p.m.Refused[c.Key]
	switch {
	case len(c.Problems) > 0:
		return problemsOf(c.Problems)
	case e == nil && p.lacks(c) != nil:
		return &refusal{reason: MuxPatchRefused, message: textLeftOff(p.lacks(c), p.w.Key, said.Words)}
	case e != nil && said.Words != "":
		return &refusal{reason: MuxPatchRefused, message: textRefused(said.Words)}
	case !c.Disabled && slices.ContainsFunc(c.claims, p.isMissing) && p.isReturning(c):
		if no := p.postpone(c); no != nil {
			c.withheld = true
			return no
		}
		p.changed[c.Key.Namespace] = true
	}
	if e == nil {
		return nil
	}
	if no := p.postpone(c); no != nil {
		return no
	}
	return p.grantEdit(e)
}

// isMissing is true for a claim in force whose port isn't on the mux.
func (p *pass) isMissing(claim *Claim) bool { return claim.held() && !p.live.has(claim) }

// isReturning is true for a channel that its owner disabled and enables again.
func (p *pass) isReturning(c *channel) bool {
	said := find(c.Conditions, p.w.Keys.Accepted)
	return said != nil && (said.Reason == string(Disabled) || said.Reason == string(PortChangesLimited)) && len(c.Address) == 0
}

// postpone refuses a change of a channel whose namespace changes its ports on the mux too often. Numbers that the channel gives up leave the
// mux at once nevertheless. A rebuilt ledger postpones nothing.
func (p *pass) postpone(c *channel) *refusal {
	until := p.limitedUntil(c.Key.Namespace)
	if until.IsZero() {
		return nil
	}
	p.lookAgain(until)
	return &refusal{
		reason: PortChangesLimited, message: textLimited(c.Key.Namespace, p.w.Key, c.isHeld(), until), until: until,
	}
}

func (p *pass) limitedUntil(namespace string) time.Time {
	until := p.m.Limited[namespace]
	if p.before.renew || !until.After(p.now) {
		return time.Time{}
	}
	return until
}

// satisfies is true if a claim is what the port asks for, and brings it up to date with the port. An auto port keeps its number though
// the range has moved since.
func (p *pass) satisfies(claim *Claim, port *validation.ChannelPort) bool {
	switch port.Request.Kind {
	case validation.Auto:
		if claim.Source != Auto && !p.w.Mux.Auto.Contains(claim.Public) {
			return false
		}
		claim.Source = Auto
	case validation.Own, validation.Number:
		if port.Request.Number != claim.Public {
			return false
		}
		claim.Source = Static
	case validation.Unread: // refused elsewhere; until then it keeps what it has
		return true
	}
	claim.Port = port.Port
	return true
}
