package plan

import (
	"slices"

	"nowake.ai/svc-lb-mux/validation"
)

// Freeze says why nothing is decided.
type Freeze struct {
	Reason  validation.Reason
	Message string
}

// frozenBy says why nothing may be decided; nil if the pass goes on. A fault in the mux or its ledger freezes the mux:
// nobody loses a port because of a mistake.
func (p *pass) frozenBy() *Freeze {
	mux := p.w.Mux
	for _, warning := range mux.Warnings {
		if warning.Reason == validation.GkePortLimitApplied || warning.Reason == validation.ProviderPortLimitApplied {
			p.warn(warning.Reason, warning.Message)
		}
	}
	for _, excess := range mux.Excesses {
		p.warn(excess.Reason, excess.Message)
	}
	switch {
	case len(mux.Problems) > 0:
		no := problemsOf(mux.Problems)
		return &Freeze{no.reason, no.message}
	case p.before.broken != "":
		return &Freeze{PortAllocationStoreInvalid, p.before.broken}
	case mux.Disabled:
		return &Freeze{MuxPaused, textPaused(p.w.Keys.Disabled)}
	case p.m.Blocked != nil:
		return &Freeze{MuxPatchRefused, textBlocked(mux, p.m.Blocked)}
	case p.m.Contested.After(p.now):
		p.lookAgain(p.m.Contested)
		return &Freeze{Contested, textContested(p.m.Contested)}
	}
	if p.m.Frozen != "" {
		p.plan.Told = append(p.plan.Told, Event{Object: p.w.Key, Reason: MuxUnfrozen, Message: textUnfrozen(p.m.Frozen)})
	}
	return nil
}

// freeze keeps all ports. Addresses and backends still follow changes.
func (p *pass) freeze(freeze *Freeze) {
	p.plan.Freeze = freeze
	p.plan.Standing = append(p.plan.Standing, Event{
		Object: p.w.Key, Warning: freeze.Reason != MuxPaused, Reason: freeze.Reason, Message: freeze.Message,
	})
	for _, c := range p.channels {
		switch {
		case p.before.guessed && p.showed(c): // it has ports, for all that is known
			c.attached, c.keepsSaid = true, true
		case c.isHeld():
			p.freezeHeld(c, freeze)
		case len(c.Problems) > 0:
			c.refuse(problemsOf(c.Problems))
		default:
			c.reason, c.message = Waiting, textWaiting(p.w.Key, freeze)
		}
	}
	for _, claim := range p.claims {
		if p.live.has(claim) || claim.held() && p.isPublished(claim) {
			p.plan.InForce = append(p.plan.InForce, *claim)
		}
	}
	slices.SortFunc(p.plan.InForce, compareClaims)
	p.measure()
	p.tell()
}

// freezeHeld lets a channel keep its ports, and reports that an edit waits.
func (p *pass) freezeHeld(c *channel, freeze *Freeze) {
	edited := p.isEdited(c)
	c.attached = p.isReached(c, edited) || p.isContested(c) && p.showed(c)
	if c.Disabled && (!c.attached || len(c.Address) == 0 || len(p.w.Mux.Address) == 0) {
		c.reason, c.message, c.attached = Disabled, textDisabled(p.w.Keys.Disabled, true), false
		return
	}
	c.keepsSaid = c.attached || !edited
	switch {
	case edited && c.attached:
		c.reason, c.message = Waiting, textEditWaits(p.w.Key, freeze)
	case edited:
		c.reason, c.message = Waiting, textWaiting(p.w.Key, freeze)
	}
}

// isEdited is true if a channel asks for something else than it has.
func (p *pass) isEdited(c *channel) bool {
	if len(c.Problems) > 0 {
		return true
	}
	held := 0
	for _, claim := range c.claims {
		if claim.held() {
			held++
		}
	}
	for i := range c.Ports {
		claim := c.claimOf(&c.Ports[i])
		if claim == nil {
			return true
		}
		if is := *claim; !p.satisfies(&is, &c.Ports[i]) {
			return true
		}
		held--
	}
	return held != 0
}

// showed is true if the channel was told that it has ports: it shows an address, or its status says that it waits for one.
func (p *pass) showed(c *channel) bool {
	said := find(c.Conditions, p.w.Keys.Programmed)
	return len(c.Address) > 0 || said != nil && said.Reason == string(AddressPending)
}

// isReached is true if the channel may show the mux's address: all that it holds is on the mux, or some of it is, if need be under another of
// its numbers. A channel that asks for something else may be another one of the same name, unless it shows an address already.
func (p *pass) isReached(c *channel, edited bool) bool {
	some, all := false, true
	for _, claim := range c.claims {
		has := p.live.has(claim)
		port := p.live.bySlot.at(claim.Slot())
		some = some || has || port != nil && slices.ContainsFunc(c.claims, func(own *Claim) bool { return own.MuxName == port.Name })
		all = all && (has || !claim.held())
	}
	return all && !edited || some && p.showed(c)
}

// isContested is true for a channel whose port another writer keeps taking off the mux.
func (p *pass) isContested(c *channel) bool {
	freeze := p.plan.Freeze
	return freeze != nil && freeze.Reason == Contested && slices.ContainsFunc(c.claims, p.isMissing)
}
