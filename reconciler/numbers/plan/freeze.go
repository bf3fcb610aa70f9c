package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"nowake.ai/svc-lb-mux/validation"
)

// Freeze says why the mux's ports and its ledger stay as they are.
type Freeze struct {
	Reason  validation.Reason
	Message string
}

// warnOfLimits warns if a provider's limit applies, or if a list of the mux has more entries than allowed.
func warnOfLimits(p *pass) {
	mux := p.w.Mux
	for _, warning := range mux.Warnings {
		if warning.Reason == validation.GkePortLimitApplied || warning.Reason == validation.ProviderPortLimitApplied {
			p.warn(warning.Reason, warning.Message)
		}
	}
	for _, excess := range mux.Excesses {
		p.warn(excess.Reason, excess.Message)
	}
}

// frozenBy says why nothing may be decided; nil if the pass goes on. A fault in the mux or its ledger freezes the mux,
// so that nobody loses a port because of a mistake.
func frozenBy(p *pass) *Freeze {
	switch mux := p.w.Mux; {
	case len(mux.Problems) > 0:
		no := problemsOf(mux.Problems)
		return &Freeze{no.reason, no.message}
	case p.before.broken != "":
		return &Freeze{PortAllocationStoreInvalid, p.before.broken}
	case mux.Disabled:
		return &Freeze{MuxPaused, textPaused(p.w.Keys.Disabled)}
	case p.m.Blocked != nil:
		return &Freeze{MuxPatchRefused, textBlocked(mux, p.m.Blocked)}
	case p.m.ContestedUntil.After(p.now):
		p.lookAgain(p.m.ContestedUntil)
		return &Freeze{Contested, textContested(p.m.ContestedUntil)}
	}
	if p.m.Frozen != "" {
		p.plan.Told = append(p.plan.Told, Event{Object: p.w.Key, Reason: MuxUnfrozen, Message: textUnfrozen(p.m.Frozen)})
	}
	return nil
}

// freezing keeps all ports.
type freezing struct {
	*pass
	why *Freeze
}

// freeze keeps all ports. Addresses and backends still follow changes.
func freeze(p *pass, why *Freeze) {
	f := &freezing{p, why}
	f.plan.Freeze = why
	f.plan.Standing = append(f.plan.Standing, Event{
		Object: f.w.Key, Warning: why.Reason != MuxPaused, Reason: why.Reason, Message: why.Message,
	})
	for _, c := range f.channels {
		switch {
		case f.before.guessed && f.showed(c): // no claims are known, but the channel's status says that it has ports
			c.showsAddress, c.keepsSaid = true, true
		case c.hasNumbers():
			f.freezeHeld(c)
		case len(c.Problems) > 0:
			c.refuse(problemsOf(c.Problems))
		case f.restrict(c) != nil:
			c.refuse(f.restrict(c))
		default:
			c.reason, c.message = Waiting, textWaiting(f.w.Key, f.why)
		}
	}
	for _, claim := range f.claims {
		if f.onMux.has(claim) || claim.held() && f.belongsOnMux(claim) {
			f.plan.InForce = append(f.plan.InForce, *claim)
		}
	}
	slices.SortFunc(f.plan.InForce, compareClaims)
	f.measure()
}

// freezeHeld lets a channel keep its ports, and reports that an edit waits.
func (f *freezing) freezeHeld(c *channel) {
	edited := f.isEdited(c)
	c.showsAddress = f.isReached(c, edited) || f.isContested(c) && f.showed(c)
	if c.Disabled && (!c.showsAddress || len(c.Address) == 0 || len(f.w.Mux.Address) == 0) {
		c.reason, c.message, c.showsAddress = Disabled, textDisabled(c, f.w.Keys.Disabled, true), false
		return
	}
	if no := f.restrict(c); no != nil && !c.Disabled && (!c.showsAddress || f.isOriginals(c)) {
		c.refuse(no)
		return
	}
	c.keepsSaid = c.showsAddress || !edited
	switch {
	case edited && c.showsAddress:
		c.reason, c.message = Waiting, textEditWaits(f.w.Key, f.why)
	case edited:
		c.reason, c.message = Waiting, textWaiting(f.w.Key, f.why)
	}
}

// isEdited is true if a channel asks for something else than it has, or must be refused.
func (f *freezing) isEdited(c *channel) bool {
	if len(c.Problems) > 0 || f.restrict(c) != nil {
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
		if claim == nil || !f.meets(claim, &c.Ports[i]) {
			return true
		}
		held--
	}
	return held != 0
}

// showed is true if the channel was told that it has ports: it shows an address, or its status says that it waits for
// one.
func (p *pass) showed(c *channel) bool {
	said := meta.FindStatusCondition(c.Conditions, p.w.Keys.Programmed)
	return len(c.Address) > 0 || said != nil && said.Reason == string(AddressPending)
}

// isReached is true if a channel of a frozen mux may show the address. Either it wasn't edited, and all its claims are
// on the mux. Or it showed the address before, and a port with one of its numbers is on the mux, perhaps under the name
// of another of its claims. An edited channel that didn't show the address may have been deleted and created again.
func (f *freezing) isReached(c *channel, edited bool) bool {
	some, all := false, true
	for _, claim := range c.claims {
		has := f.onMux.has(claim)
		port := f.onMux.bySlot.at(claim.Slot())
		some = some || has || port != nil && slices.ContainsFunc(c.claims,
			func(own *Claim) bool { return own.MuxName == port.Name })
		all = all && (has || !claim.held())
	}
	return all && !edited || some && f.showed(c)
}

// isContested is true for a channel whose port another writer keeps taking off the mux.
func (p *pass) isContested(c *channel) bool {
	freeze := p.plan.Freeze
	return freeze != nil && freeze.Reason == Contested && slices.ContainsFunc(c.claims, p.isMissing)
}
