package plan

import "slices"

// grant is what one channel is about to get.
type grant struct {
	*pass
	channel *channel
	wanted  []wanted
	adding  int      // numbers beyond those that it has
	moving  []*Claim // claims of its own that leave their numbers
	got     []given
}

// given is what a port gets.
type given struct {
	want    *wanted
	numbers Span
	source  Source
}

// give gives the channel all that it wants, or nothing.
func (g *grant) give() *refusal {
	for _, step := range [...]func() *refusal{g.checkProtocols, g.checkCaps, g.takeAsked, g.pickRest} {
		if no := step(); no != nil {
			for _, it := range g.got {
				for slot := range it.numbers.slots() {
					g.free(slot)
				}
			}
			return no
		}
	}
	g.commit()
	return nil
}

// takeAsked takes the numbers that are asked for.
func (g *grant) takeAsked() *refusal {
	for i := range g.wanted {
		w := &g.wanted[i]
		if w.number() == 0 {
			continue
		}
		if no := g.check(w); no != nil {
			return no
		}
		g.take(w, w.asks(), Static)
	}
	return nil
}

func (g *grant) take(w *wanted, numbers Span, source Source) {
	for slot := range numbers.slots() {
		g.taken[slot.Protocol].add(slot.Number)
	}
	g.got = append(g.got, given{w, numbers, source})
}

// checkCaps refuses more ports than the mux and the namespace may have.
func (g *grant) checkCaps() *refusal {
	mux, namespace := g.w.Mux, g.channel.Key.Namespace
	if g.adding > 0 && g.held+g.adding > mux.Cap.Ports {
		return &refusal{
			reason: MuxPortLimitExceeded, message: textLimit(mux, g.adding), advice: textLimitAdvice(g.held),
		}
	}
	if quota := mux.CapPerNamespace; g.adding > 0 && quota > 0 && g.heldBy[namespace]+g.adding > quota {
		return &refusal{
			reason: QuotaExceeded, message: textQuota(mux, namespace, g.adding), advice: textQuotaAdvice(g.heldBy[namespace]),
		}
	}
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
		no := &refusal{reason: ProtocolNotAllowed, message: textOneProtocol(g.w.Mux, inUse, asked)}
		if name := g.foreign[SlotOf(placeholderPort())]; name == placeholderName && g.carrying[inUse] == 1 {
			no.message = textPlaceholderProtocol(g.w.Mux, asked, g.w.Keys.Placeholder)
		}
		return no
	}
	return nil
}

// check refuses numbers that the channel can't have.
func (g *grant) check(w *wanted) *refusal {
	asks := w.asks()
	if !asks.isRange() {
		return g.checkNumber(w, asks.slot())
	}
	if g.w.Mux.Pool == "" {
		return &refusal{reason: PortRangesNotSupported, message: textPortRange(w.port, g.w.Key)}
	}
	if outside, is := g.w.Mux.Explicit.FirstOutside(asks.run()); is {
		return &refusal{reason: OutOfRange, message: textNotExplicit(w.port.Name, Slot{outside, asks.Protocol}, g.w.Mux)}
	}
	left := asks.run()
	for number := firstTaken(left, g.taken[asks.Protocol]); number != 0; number = firstTaken(left, g.taken[asks.Protocol]) {
		if no := g.checkNumber(w, Slot{number, asks.Protocol}); no != nil {
			return no
		}
		left.First = number + 1 // it is a number of the channel itself
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
	switch {
	case foreign:
		return g.conflict(w, slot, textForeign(w.port.Name, slot, name))
	case g.leaving[slot]:
		return g.conflict(w, slot, textLeaving(w.port.Name, slot))
	case holder == nil || holder.Owner.Channel == g.channel.Key && (!holder.held() || slices.Contains(g.moving, holder)):
		return nil
	}
	until := holder.Until
	if stays := g.live.has(holder) && g.belongsOnMux(holder); holder.State == Releasing && !stays { // else its grace begins once it is off the mux
		until = g.reservedUntil(holder)
	}
	no := g.conflict(w, slot, textConflict(w.port.Name, slot, holder, until))
	no.holder, no.until = holder.Owner.Channel, until
	return no
}

func (g *grant) conflict(w *wanted, slot Slot, message string) *refusal {
	no := &refusal{reason: MuxPortConflict, slot: slot, message: message, advice: textOtherRange()}
	if !w.asks().isRange() {
		no.advice = textWayOut(g.nearest(g.w.Mux.Explicit, slot), g.w.Mux.Auto.Len() > 0)
	}
	return no
}

// commit makes claims of what the channel gets. A claim that moves leaves its numbers, unless they are another port's of this channel now.
func (g *grant) commit() {
	g.changed[g.channel.Key.Namespace] = true
	g.release(g.moving...)
	kept := map[string]bool{} // names on the mux that ports of this channel keep
	for _, it := range g.got {
		if it.want.has != nil {
			kept[it.want.has.MuxName] = true
		}
	}
	for _, it := range g.got {
		claim := &Claim{
			Owner: it.want.id(g.channel), Port: it.want.port.Port, Public: it.numbers.First, Last: it.numbers.end(), Source: it.source,
			Since: g.now, State: Held,
		}
		for slot := range it.numbers.slots() {
			old := g.holders.at(slot)
			if old == nil {
				continue
			}
			if old.Span() == it.numbers && !slices.Contains(g.moving, old) { // the channel gave the number up, and comes back to it
				claim.Since, claim.MuxName = old.Since, old.MuxName
			}
			g.forget(old)
			g.releaseRest(old, it.numbers)
		}
		if it.want.has != nil {
			claim.Since, claim.MuxName = g.now, it.want.has.MuxName // a port that moves keeps its name on the mux
		} else if other := g.names[claim.MuxName]; claim.MuxName == "" || kept[claim.MuxName] || other != nil && other.held() {
			claim.MuxName = g.newName(claim.Owner)
		}
		g.add(claim)
		g.names[claim.MuxName] = claim
	}
}

// releaseRest releases the numbers of a claim that another claim of its channel doesn't take over.
func (b *book) releaseRest(old *Claim, taken Span) {
	for _, part := range old.Span().without(taken) {
		rest := *old
		rest.Public, rest.Last = part.First, part.end()
		b.add(&rest)
		b.release(&rest)
	}
}
