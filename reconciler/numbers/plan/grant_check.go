package plan

import (
	"slices"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
)

// checkCaps refuses more ports than the mux and the namespace may have.
func (g *grant) checkCaps() *refusal {
	mux, namespace := g.w.Mux, g.channel.Key.Namespace
	if g.adding > 0 && g.inUse+g.adding > mux.Cap.Ports {
		return &refusal{
			reason: MuxPortLimitExceeded, message: textLimit(mux, g.adding), advice: textLimitAdvice(g.inUse),
		}
	}
	if quota := mux.CapPerNamespace; g.adding > 0 && quota > 0 && g.inUseBy[namespace]+g.adding > quota {
		return &refusal{
			reason: QuotaExceeded, message: textQuota(mux, namespace, g.adding), advice: textQuotaAdvice(g.inUseBy[namespace]),
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
		return &refusal{reason: OutOfRange,
			message: textNotExplicit(w.port.Name, Slot{outside, asks.Protocol}, g.w.Mux, true)}
	}
	rest := asks.run()
	for number := firstTaken(rest, g.taken[asks.Protocol]); number != 0; number = firstTaken(rest,
		g.taken[asks.Protocol]) {
		if no := g.checkNumber(w, Slot{number, asks.Protocol}); no != nil {
			return no
		}
		rest.First = number + 1 // the channel itself has this number
	}
	return nil
}

// checkNumber refuses a number that the channel can't have.
func (g *grant) checkNumber(w *wanted, slot Slot) *refusal {
	if !g.w.Mux.Explicit.Contains(slot.Number) {
		return &refusal{reason: OutOfRange,
			message: textNotExplicit(w.port.Name, slot, g.w.Mux, !claimants.IsListener(g.channel.Key))}
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
	// else the grace begins once its port is off
	if stays := g.onMux.has(holder) && g.belongsOnMux(holder); holder.State == Releasing && !stays {
		until = g.reservedUntil(holder)
	}
	no := g.conflict(w, slot, textConflict(w.port.Name, slot, holder, until))
	no.holder, no.until = holder.Owner.Channel, until
	return no
}

func (g *grant) conflict(w *wanted, slot Slot, message string) *refusal {
	no := &refusal{reason: MuxPortConflict, slot: slot, message: message, advice: textOtherRange()}
	switch {
	case claimants.IsListener(g.channel.Key):
		no.advice = textListenerWayOut(g.nearest(g.w.Mux.Explicit, slot))
	case !w.asks().isRange():
		no.advice = textWayOut(g.nearest(g.w.Mux.Explicit, slot), g.w.Mux.Auto.Len() > 0)
	}
	return no
}
