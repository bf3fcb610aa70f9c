package plan

import (
	"slices"
	"time"
)

// incumbents goes over all claims that were there before, and decides which of them stay. Whoever has ports keeps them
// before anybody else gets any. First all let go what they let go, then those who ask for something instead get it, the
// oldest first: so nobody waits for a number only because of the order they come in.
func (p *pass) incumbents() {
	p.absentees()
	p.graces()
	var asking []*member
	edits := map[*member]*edit{}
	for _, c := range p.sorted {
		if !p.inForce(c) || !p.mayHaveAny(c) {
			continue
		}
		e := p.letGo(c)
		if len(e.wanted) == 0 {
			p.reconsider(&e) // which is nobody else's business
			continue
		}
		asking = append(asking, c)
		edits[c] = &e
	}
	for _, c := range byAge(asking) {
		e := edits[c]
		p.reconsider(e)
		if e.channel.refusal != nil {
			p.refused = append(p.refused, e)
		}
	}
}

// goneSoon is when a mux is looked at again that keeps ports for a channel only because its status couldn't be written.
const goneSoon = time.Second

// absentees are owners of claims that aren't among the channels. Not to see somebody doesn't mean that they are gone:
// they keep what they have until a live read says so.
func (p *pass) absentees() {
	for key, claims := range p.absent {
		if p.w.Stuck[key] && slices.ContainsFunc(claims, p.published) {
			p.lookAgain(p.now.Add(goneSoon)) // nobody waits for its status once it is known to be gone
		}
		if !slices.ContainsFunc(claims, (*Claim).held) {
			continue
		}
		switch p.w.Live[key] {
		case Gone:
			p.releaseAll(claims)
		case Unasked:
			p.plan.Confirm = append(p.plan.Confirm, key)
		case Present:
		}
	}
}

// release lets a claim go. It isn't free before it is off the mux and out of the ledger.
func (p *pass) release(claim *Claim) {
	if claim.State != Held {
		return
	}
	p.countMoved(claim, -1)
	claim.State = Releasing
	p.countMoved(claim, +1) // its channel may be stuck: then it keeps its slot
}

// keep takes back that a claim was let go.
func (p *pass) keep(claim *Claim) {
	p.countMoved(claim, -1)
	claim.State = Held
	p.countMoved(claim, +1)
}

// countMoved counts a claim, and where its channel is stuck the one that its port had before it moved: that stays until this one comes.
func (p *pass) countMoved(claim *Claim, n int) {
	p.count(claim, n)
	if len(p.w.Stuck) == 0 || !p.w.Stuck[claim.Owner.Channel] {
		return
	}
	for _, old := range p.claimsOf(claim.Owner.Channel) {
		if old != claim && old.State == Releasing && old.MuxName == claim.MuxName {
			p.count(old, n)
		}
	}
}

func (p *pass) releaseAll(claims []*Claim) {
	for _, claim := range claims {
		p.release(claim)
	}
}

// count enters a claim's slot, or takes it out, if it takes one.
func (p *pass) count(claim *Claim, n int) {
	if claim.State == Held || p.published(claim) {
		p.held += n
		p.countIn(claim.Owner.Channel.Namespace, n)
		p.carrying[claim.Owner.Protocol] += n
	}
}

// countIn counts a namespace's slots, if anybody asks.
func (p *pass) countIn(namespace string, n int) {
	if p.w.Mux.CapPerNamespace > 0 {
		p.heldBy[namespace] += n
	}
}

// mayHaveAny is true unless a channel may have no ports any more; then they are released.
func (p *pass) mayHaveAny(c *member) bool {
	j := &c.judgement
	switch {
	case c.Deleting:
		j.reason, j.message = NotAccepted, textDeleting()
		p.releaseAll(c.claims)
		return false
	case !p.allowed.namespace(c.Key.Namespace):
		j.reason, j.message = NamespaceNotAllowed, textNamespace(p.w.Mux, c.Key.Namespace)
		p.releaseAll(c.claims)
		return false
	}
	return true
}

// letGo releases what a channel no longer has in its spec. What it returns is to be decided once all others have done so.
func (p *pass) letGo(c *member) edit {
	p.yield(c)
	e := p.compare(c)
	e.followRenames()
	p.releaseAll(e.left)
	return e
}

// yield gives up numbers that a channel holds without using them, and that the mux's owner uses meanwhile.
func (p *pass) yield(c *member) {
	for _, claim := range c.claims {
		if _, foreign := p.table.foreign[claim.Slot()]; foreign && !p.published(claim) && !p.leftOff[claim] {
			p.release(claim)
		}
	}
}

// reconsider gives a channel that has ports what it asks for instead, or more.
func (p *pass) reconsider(e *edit) {
	c, j := e.channel, &e.channel.judgement
	if p.keepOff(c) {
		return
	}
	switch {
	case len(c.Problems) > 0:
		j.reason, j.message = problems(c.Problems)
	case len(e.wanted) == 0:
		p.accept(c)
	case p.w.Refused[c.Key] != "":
		j.reason, j.message = MuxPatchRefused, textRefused(p.w.Refused[c.Key])
	default:
		p.editOrKeep(e)
	}
	j.attached = p.inForce(c)
	if c.Disabled && (j.attached || len(c.Problems) == 0) {
		j.reason, j.message = Disabled, textDisabled(p.w.Keys.Disabled, j.attached)
		j.accepted, j.attached, j.notes = false, false, nil
	}
}

// editOrKeep gives all that is asked for, or nothing. A channel that waits for what somebody else is just letting go
// keeps what it let go itself, until it can have the one for the other without a gap.
func (p *pass) editOrKeep(e *edit) {
	if p.postpone(e.channel) {
		return
	}
	no := e.grant()
	if no == nil {
		p.changes(e.channel)
		p.accept(e.channel)
		return
	}
	p.refuse(e.channel, no)
	if p.passes(no, e.channel.Key) {
		for _, claim := range e.left {
			p.keep(claim)
		}
		e.kept = true
	}
}
