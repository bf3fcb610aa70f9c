package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// standing says whether anything may be decided. What can't be understood, or isn't all there is, freezes the mux:
// nobody loses a port because somebody made a mistake.
func (p *pass) standing(before *established) *Freeze {
	mux := p.w.Mux
	for _, warning := range mux.Warnings {
		if warning.Reason == validation.GkePortLimitApplied || warning.Reason == validation.ProviderPortLimitApplied {
			p.sayOfMux(warning.Reason, warning.Message)
		}
	}
	for _, excess := range mux.Excesses {
		p.sayOfMux(excess.Reason, excess.Message)
	}
	switch {
	case len(mux.Problems) > 0:
		reason, message := problems(mux.Problems)
		return &Freeze{reason, message}
	case before.broken != "":
		return &Freeze{PortAllocationStoreInvalid, before.broken}
	case mux.Disabled:
		return &Freeze{MuxPaused, textPaused(p.w.Keys.Disabled)}
	case p.w.Blocked != nil:
		return &Freeze{MuxPatchRefused, textBlocked(mux, p.w.Blocked)}
	}
	return nil
}

// freeze carries on with what is known: addresses and backends flow, and nothing else is touched.
func (p *pass) freeze(freeze *Freeze, before *established) {
	p.plan.Freeze = freeze
	p.say(Event{
		Object: p.w.Key, Warning: freeze.Reason != MuxPaused, Reason: freeze.Reason, Message: freeze.Message,
	})
	for _, c := range p.sorted {
		j := &c.judgement
		switch {
		case before.guessed && p.showed(c): // it has ports, for all we know
			j.attached, j.carryOn = true, true
		case p.inForce(c):
			p.keepOn(c, freeze)
		case len(c.Problems) > 0:
			j.reason, j.message = problems(c.Problems)
		default:
			j.reason, j.message = Waiting, textWaiting(p.w.Key, freeze)
		}
	}
	for _, claim := range p.claims {
		if p.live.has(claim) || claim.State == Held && (p.leftOff[claim] || p.published(claim)) {
			p.plan.InForce = append(p.plan.InForce, *claim)
		}
	}
	slices.SortFunc(p.plan.InForce, compareClaims)
	p.measure()
	p.tellEdges(p.showAll())
}

// keepOn leaves a channel what it holds, and says so if it asks for something else by now.
func (p *pass) keepOn(c *member, freeze *Freeze) {
	j, edited := &c.judgement, p.edited(c)
	j.attached = p.reached(c, edited)
	if shows := j.attached && len(c.Address) > 0 && len(p.w.Mux.Address) > 0; c.Disabled && !shows {
		j.reason, j.message, j.attached = Disabled, textDisabled(p.w.Keys.Disabled, true), false
		return
	}
	j.carryOn = j.attached || !edited
	switch {
	case edited && j.attached:
		j.reason, j.message = Waiting, textEditWaits(p.w.Key, freeze)
	case edited:
		j.reason, j.message = Waiting, textWaiting(p.w.Key, freeze)
	}
}

// tellUnfrozen says once that what froze the mux is over.
func (p *pass) tellUnfrozen() {
	if p.w.Frozen != "" {
		p.plan.Told = append(p.plan.Told, Event{Object: p.w.Key, Reason: MuxUnfrozen, Message: textUnfrozen(p.w.Frozen)})
	}
}

// edited is true if a channel asks for something else than it has.
func (p *pass) edited(c *member) bool {
	if len(c.Problems) > 0 {
		return true
	}
	held := 0
	for _, claim := range c.claims {
		if claim.State == Held {
			held++
		}
	}
	for i := range c.Ports {
		port := &c.Ports[i]
		claim := p.claimOf(c, port)
		if claim == nil {
			return true
		}
		if is := *claim; !p.satisfies(&is, port) {
			return true
		}
		held--
	}
	return held != 0
}

// showed is true if a channel was told that it has ports: it shows an address, or what it says in its status, which only
// we write, is that it waits for one.
func (p *pass) showed(c *member) bool {
	said := find(c.Conditions, p.w.Keys.Programmed)
	return len(c.Address) > 0 || said != nil && said.Reason == string(AddressPending)
}

// inForce is true if the channel has a claim that holds.
func (p *pass) inForce(c *member) bool {
	for _, claim := range c.claims {
		if claim.State == Held {
			return true
		}
	}
	return false
}

// reached is true if the channel may show the mux's address while nothing is decided: all that it holds is on the mux, or
// some of it still is, be it under another of its numbers, as where two were to be exchanged. One that asks for something else may be another one, that has the name of who holds it.
func (p *pass) reached(c *member, edited bool) bool {
	some, all := false, true
	for _, claim := range c.claims {
		has := p.live.has(claim) // what was to go is still there, too
		some = some || has || p.leadsTo(c.Key, p.live.bySlot.at(claim.Slot()))
		all = all && (has || claim.State != Held)
	}
	return all && !edited || some && p.showed(c)
}

// published is true if a claim's port belongs on the mux. Where a channel still shows the address, its ports stay; and
// of one that isn't to be seen, which may be disabled, they are neither taken off nor put on.
func (p *pass) published(claim *Claim) bool {
	stuck := len(p.w.Stuck) > 0 && p.w.Stuck[claim.Owner.Channel]
	switch claim.State {
	case Held:
		if p.leftOff[claim] {
			return false
		}
		if !p.disables && len(p.absent) == 0 || stuck && p.leadsTo(claim.Owner.Channel, p.live.bySlot.at(claim.Slot())) {
			return true
		}
		if c := p.byKey[claim.Owner.Channel]; c != nil {
			return !c.Disabled
		}
		return p.live.named(claim.MuxName) != nil
	case Releasing:
		if !stuck || !p.live.has(claim) {
			return false
		}
		moved := p.namesake(claim)
		return moved == nil || !p.published(moved)
	case InGrace:
	}
	return false
}

// leadsTo is true for a port of the mux that has the name of one of a channel's claims.
func (p *pass) leadsTo(channel types.NamespacedName, port *corev1.ServicePort) bool {
	return port != nil && slices.ContainsFunc(p.claimsOf(channel), func(c *Claim) bool { return c.MuxName == port.Name })
}

// namesake is the claim that took a claim's name over when its port moved to another number; nil if there is none.
func (p *pass) namesake(claim *Claim) *Claim {
	for _, other := range p.claimsOf(claim.Owner.Channel) {
		if other != claim && other.State == Held && other.MuxName == claim.MuxName {
			return other
		}
	}
	return nil
}
