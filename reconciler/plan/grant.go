package plan

import "slices"

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
