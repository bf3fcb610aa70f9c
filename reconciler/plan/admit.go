package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// mostRounds bounds how often newcomers are gone over. Without a bound, thousands of channels that wait for a number would take rounds
// without end when none is left.
const mostRounds = 4

// admit gives newcomers all that they ask for, or nothing. In a round each newcomer, the oldest first, reserves its place under the caps and
// the numbers that it asks for. Then numbers are picked for those that let us pick. A newcomer for which none is left may have kept others
// from their place, so the next round goes without it.
func (p *pass) admit() {
	var asking []*channel
	for _, c := range p.channels {
		if c.isHeld() || c.refusal != nil {
			continue
		}
		if no := p.shutsOutNewcomer(c); no != nil {
			c.refuse(no)
			continue
		}
		asking = append(asking, c)
	}
	asking = byAge(asking)
	left := asking
	for round := 1; ; round++ {
		grants, failed := p.round(left)
		if len(failed) == 0 || round == mostRounds {
			for _, g := range grants {
				p.admitted(g)
			}
			break
		}
		for _, g := range grants {
			g.undo()
		}
		left = slices.DeleteFunc(slices.Clone(left), func(c *channel) bool { return failed[c] })
	}
	p.askAgain(asking)
}

func (p *pass) admitted(g *grant) {
	g.commit()
	p.accept(g.channel)
	g.channel.attached = true
}

// askAgain decides once more about the refused requests. The rounds may have left a number for them; if not, they are
// told what stands in their way now that all numbers are given.
func (p *pass) askAgain(asked []*channel) {
	for _, e := range p.refusedEdits {
		p.judgeIncumbent(e.channel, e)
	}
	for _, c := range asked {
		if c.accepted {
			continue
		}
		g := p.newGrant(c)
		no := g.reserveAsked()
		if no == nil {
			no = g.pickRest()
		}
		if no == nil {
			p.admitted(g)
			continue
		}
		g.undo()
		c.refuse(no)
	}
}

func (p *pass) newGrant(c *channel) *grant {
	g := &grant{pass: p, channel: c, adding: len(c.Ports), wanted: make([]wanted, 0, len(c.Ports))}
	for i := range c.Ports {
		g.wanted = append(g.wanted, wanted{port: &c.Ports[i]})
	}
	return g
}

// shutsOutNewcomer is decided before any number is looked at.
func (p *pass) shutsOutNewcomer(c *channel) *refusal {
	if no := p.shutsOut(c); no != nil {
		return no
	}
	switch forbidden, unread := p.allowed.forbidden(c); {
	case len(c.Problems) > 0:
		return problemsOf(c.Problems)
	case c.Disabled:
		return &refusal{reason: Disabled, message: textDisabled(p.w.Keys.Disabled, false)}
	case p.m.Refused[c.Key].Words != "":
		return &refusal{reason: MuxPatchRefused, message: textRefused(p.m.Refused[c.Key].Words)}
	case unread:
		return &refusal{reason: HostnameNotAllowed, message: textTooManyDirect(c.Direct[0].Key, p.allowed.most)}
	case len(forbidden) > 0:
		// External-dns reads that annotation itself, and publishes the name once the channel has an address. The annotation isn't ours to
		// change, so the channel gets no address.
		return &refusal{reason: HostnameNotAllowed, message: textDirect(forbidden[0].Key, forbidden[0].Name, p.w.Mux)}
	}
	return p.postpone(c)
}

// round reserves what can be had. Channels for which no number could be picked are returned as failed; all others that get nothing are refused.
func (p *pass) round(asking []*channel) (grants []*grant, failed map[*channel]bool) {
	for _, c := range asking {
		g := p.newGrant(c)
		if no := g.reserveAsked(); no != nil {
			g.undo()
			c.refuse(no)
			continue
		}
		grants = append(grants, g)
	}
	failed = map[*channel]bool{}
	grants = slices.DeleteFunc(grants, func(g *grant) bool {
		no := g.pickRest()
		if no == nil {
			return false
		}
		g.undo()
		g.channel.refuse(no)
		failed[g.channel] = true
		return true
	})
	return grants, failed
}

// grantEdit grants the whole edit of an incumbent, or nothing.
func (p *pass) grantEdit(e *edit) *refusal {
	g := &grant{pass: p, channel: e.channel, wanted: e.wanted}
	for i := range g.wanted {
		if has := g.wanted[i].has; has != nil {
			g.moving = append(g.moving, has)
		} else {
			g.adding++
		}
	}
	no := g.reserveAsked()
	if no == nil {
		no = g.pickRest()
	}
	if no != nil {
		g.undo()
		return no
	}
	g.commit()
	return nil
}

// grant is what one channel is about to get. Until it is committed, it only reserves.
type grant struct {
	*pass
	channel *channel
	wanted  []wanted
	adding  int      // slots beyond those that it has
	moving  []*Claim // claims of its own that leave their numbers
	seated  bool
	got     []given
}

// given is a number that a port gets.
type given struct {
	want   *wanted
	slot   Slot
	source Source
	marked bool // the number wasn't reserved before
}

// reserveAsked reserves the place under the caps and the numbers that are asked for.
func (g *grant) reserveAsked() *refusal {
	if no := g.checkProtocols(); no != nil {
		return no
	}
	if no := g.seat(); no != nil {
		return no
	}
	for i := range g.wanted {
		w := &g.wanted[i]
		if w.number() == 0 {
			continue
		}
		slot := Slot{w.number(), w.port.Protocol}
		if no := g.checkNumber(w, slot); no != nil {
			return no
		}
		g.give(w, slot, Static)
	}
	return nil
}

func (g *grant) give(w *wanted, slot Slot, source Source) {
	holder := g.holders.at(slot)
	g.got = append(g.got, given{w, slot, source, holder == nil})
	g.taken[slot.Protocol].add(slot.Number)
	if holder == nil {
		g.reserved.set(slot, &reservation{g.channel.Key, w.port.Name})
	}
	g.carrying[slot.Protocol]++
}

// undo cancels the reservations.
func (g *grant) undo() {
	for _, it := range g.got {
		g.carrying[it.slot.Protocol]--
		if it.marked {
			g.reserved.set(it.slot, nil)
			g.free(it.slot)
		}
	}
	g.got = nil
	if g.seated {
		g.held -= g.adding
		g.heldBy[g.channel.Key.Namespace] -= g.adding
		g.seated = false
	}
}

// seat takes the place under the caps.
func (g *grant) seat() *refusal {
	mux, namespace := g.w.Mux, g.channel.Key.Namespace
	if g.adding > 0 && g.held+g.adding > mux.Cap.Ports {
		return &refusal{
			reason: MuxPortLimitExceeded, message: textLimit(mux, g.adding), advice: textLimitAdvice(g.held), full: true,
		}
	}
	if quota := mux.CapPerNamespace; g.adding > 0 && quota > 0 && g.heldBy[namespace]+g.adding > quota {
		return &refusal{
			reason: QuotaExceeded, message: textQuota(mux, namespace, g.adding), advice: textQuotaAdvice(g.heldBy[namespace]), full: true,
		}
	}
	g.held += g.adding
	g.heldBy[namespace] += g.adding
	g.seated = true
	return nil
}

// checkProtocols refuses protocols that the mux doesn't take, or can't mix with those that it carries.
func (g *grant) checkProtocols() *refusal {
	policy := g.w.Mux.Protocols
	for i := range g.wanted {
		protocol := g.wanted[i].port.Protocol
		if !policy.Allowed.Has(protocol) {
			return &refusal{reason: ProtocolNotAllowed, message: textProtocol(g.w.Mux, protocol)}
		}
		if first := g.wanted[0].port.Protocol; policy.OneOnly && first != protocol {
			return &refusal{reason: ProtocolNotAllowed, message: textOneProtocol(g.w.Mux, first, protocol)}
		}
	}
	if !policy.OneOnly || len(g.wanted) == 0 {
		return nil
	}
	asked := g.wanted[0].port.Protocol
	for _, inUse := range protocols() {
		if g.carrying[inUse] == 0 || inUse == asked {
			continue
		}
		no := &refusal{reason: ProtocolNotAllowed, message: textOneProtocol(g.w.Mux, inUse, asked), full: true}
		if name := g.foreign[slotOf(placeholderPort())]; name == placeholderName && g.carrying[inUse] == 1 {
			no.message = textPlaceholderProtocol(g.w.Mux, asked, g.w.Keys.Placeholder)
		}
		return no
	}
	return nil
}

// checkNumber refuses a number that the channel can't have.
func (g *grant) checkNumber(w *wanted, slot Slot) *refusal {
	if !g.w.Mux.Explicit.Contains(slot.Number) {
		return &refusal{reason: OutOfRange, message: textNotExplicit(w.port.Name, slot, g.w.Mux)}
	}
	holder := g.holders.at(slot)
	name, foreign := g.foreign[slot]
	switch reserver := g.reserved.at(slot); {
	case foreign:
		return g.conflict(slot, textForeign(w.port.Name, slot, name))
	case g.leaving[slot]:
		return g.conflict(slot, textLeaving(w.port.Name, slot))
	case reserver != nil:
		no := g.conflict(slot, textReserved(w.port.Name, slot, reserver))
		no.holder = reserver.by
		return no
	case holder == nil || holder.Owner.Channel == g.channel.Key && (!holder.held() || slices.Contains(g.moving, holder)):
		return nil
	}
	until := holder.Until
	if holder.State == Releasing {
		until = g.reservedUntil(holder)
	}
	said := until
	if g.live.has(holder) { // its grace begins once it is off the mux
		said = said.Truncate(0)
		if holder.State == Releasing && g.isPublished(holder) {
			said, until = holder.Until, holder.Until
		}
	}
	no := g.conflict(slot, textConflict(w.port.Name, holder, said))
	no.holder, no.until = holder.Owner.Channel, until
	return no
}

func (g *grant) conflict(slot Slot, message string) *refusal {
	return &refusal{
		reason: MuxPortConflict, slot: slot, message: message,
		advice: textWayOut(g.nearest(g.w.Mux.Explicit, slot), g.w.Mux.Auto.Len() > 0),
	}
}

// pickRest picks numbers where any will do.
func (g *grant) pickRest() *refusal {
	ranges := g.w.Mux.Auto.Ranges()
	for i := range g.wanted {
		w := &g.wanted[i]
		if w.number() != 0 || g.isGiven(w) {
			continue
		}
		if len(ranges) == 0 {
			return &refusal{reason: validation.InvalidPortMapping, message: textNoRange(w.port.Name, g.w.Mux, g.w.Keys.PortRange)}
		}
		if !g.pick(w, ranges) {
			return &refusal{
				reason: validation.InvalidPortMapping, message: textExhausted(w.port.Name, w.port.Protocol, g.w.Mux), usedUp: w.port.Protocol,
			}
		}
	}
	return nil
}

func (g *grant) isGiven(w *wanted) bool {
	return slices.ContainsFunc(g.got, func(it given) bool { return it.want == w })
}

// pick picks the number that the port had before, one together with the port of the other protocol, any that is free, or one that the channel
// gave up and that is still held for it.
func (g *grant) pick(w *wanted, ranges []validation.PortRange) bool {
	if former := g.spare(w, true); former != nil {
		g.give(w, former.Slot(), Auto)
		return true
	}
	if g.pickPair(w, ranges) {
		return true
	}
	if number := g.auto(ranges, w.port.Protocol); number != 0 {
		g.give(w, Slot{number, w.port.Protocol}, Auto)
		return true
	}
	if spare := g.spare(w, false); spare != nil {
		g.give(w, spare.Slot(), Auto)
		return true
	}
	return false
}

// spare is a claim that the channel gave up, whose number can be picked again; with former, only one of this very port.
func (g *grant) spare(w *wanted, former bool) *Claim {
	var found *Claim
	for _, claim := range g.channel.claims {
		_, foreign := g.foreign[claim.Slot()]
		gives := !claim.held() && !foreign && g.w.Mux.Auto.Contains(claim.Public) && claim.Owner.Protocol == w.port.Protocol &&
			!slices.ContainsFunc(g.got, func(it given) bool { return it.slot == claim.Slot() })
		if gives && (!former || claim.Owner == w.id(g.channel)) && (found == nil || claim.Until.After(found.Until)) {
			found = claim
		}
	}
	return found
}

// pickPair gives ports that have one number under several protocols one public number, if one is free under all of them.
func (g *grant) pickPair(w *wanted, ranges []validation.PortRange) bool {
	var set []*wanted
	var under []corev1.Protocol
	for i := range g.wanted {
		other := &g.wanted[i]
		if other.port.Port != w.port.Port || other.number() != 0 || other.has != nil || g.isGiven(other) {
			continue
		}
		if g.spare(other, true) != nil {
			return false
		}
		set, under = append(set, other), append(under, other.port.Protocol)
	}
	if len(set) < 2 || w.has != nil {
		return false
	}
	number := g.auto(ranges, under...)
	if number == 0 {
		return false
	}
	for _, other := range set {
		g.give(other, Slot{number, other.port.Protocol}, Auto)
	}
	return true
}

// commit turns the reservations into claims. A claim that moves leaves its number, unless that number is another port's of this channel now.
func (g *grant) commit() {
	g.changed[g.channel.Key.Namespace] = true
	if g.seated {
		g.held -= g.adding // the claims count from here on
		g.heldBy[g.channel.Key.Namespace] -= g.adding
	}
	g.release(g.moving...)
	for _, it := range g.got {
		g.carrying[it.slot.Protocol]--
		if it.marked {
			g.reserved.set(it.slot, nil)
		}
		claim := &Claim{
			Owner: it.want.id(g.channel), Port: it.want.port.Port, Public: it.slot.Number, Source: it.source, Since: g.now, State: Held,
		}
		if old := g.holders.at(it.slot); old != nil {
			if !slices.Contains(g.moving, old) { // the channel gave the number up, and comes back to it
				claim.Since, claim.MuxName = old.Since, old.MuxName
			}
			g.forget(old)
		}
		if it.want.has != nil {
			claim.Since, claim.MuxName = g.now, it.want.has.MuxName // a port that moves keeps its name on the mux
		} else if other := g.names[claim.MuxName]; claim.MuxName == "" || other != nil && other.held() {
			claim.MuxName = g.newName(claim.Owner)
		}
		g.add(claim)
		g.names[claim.MuxName] = claim
	}
}
