package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// grant is what one channel is about to get. It is all or nothing: undo leaves no trace.
type grant struct {
	*pass
	channel *member
	wanted  []wanted
	adding  int             // slots more than it has
	ours    map[*Claim]bool // claims of its own that move away, so that their numbers may be reused
	seated  bool
	got     []given
}

// all grants everything wanted.
func (g *grant) all() *refusal {
	if no := g.fixed(); no != nil {
		return no
	}
	return g.picked()
}

// fixed grants the place under the caps, and the numbers that were asked for.
func (g *grant) fixed() *refusal {
	if no := g.carried(); no != nil {
		return no
	}
	if no := g.seat(); no != nil {
		return no
	}
	for i := range g.wanted {
		w := &g.wanted[i]
		if number := w.fixed(); number != 0 {
			if no := g.number(w, number); no != nil {
				return no
			}
		}
	}
	return nil
}

// seat takes the slots.
func (g *grant) seat() *refusal {
	mux, namespace := g.w.Mux, g.channel.Key.Namespace
	if g.adding > 0 && g.held+g.adding > mux.Cap.Ports {
		return &refusal{
			reason: MuxPortLimitExceeded, message: textLimit(mux, g.adding), advice: textLimitAdvice(g.held), full: true,
		}
	}
	if quota := mux.CapPerNamespace; g.adding > 0 && quota > 0 && g.heldBy[namespace]+g.adding > quota {
		return &refusal{
			reason: QuotaExceeded, message: textQuota(mux, namespace, g.adding),
			advice: textQuotaAdvice(g.heldBy[namespace]), full: true,
		}
	}
	g.held += g.adding
	g.countIn(namespace, g.adding)
	g.seated = true
	return nil
}

// carried is whether the mux takes the protocols.
func (g *grant) carried() *refusal {
	policy := g.w.Mux.Protocols
	for i := range g.wanted {
		protocol := g.wanted[i].port.Protocol
		if !policy.Allowed.Has(protocol) {
			return &refusal{reason: ProtocolNotAllowed, message: textProtocol(g.w.Mux, protocol)}
		}
		if !policy.OneOnly {
			continue
		}
		if first := g.wanted[0].port.Protocol; first != protocol {
			return &refusal{reason: ProtocolNotAllowed, message: textOneProtocol(g.w.Mux, first, protocol)}
		}
	}
	if policy.OneOnly && len(g.wanted) > 0 {
		return g.mixes(g.wanted[0].port.Protocol)
	}
	return nil
}

// mixes says no if the mux has ports of another protocol.
func (g *grant) mixes(protocol corev1.Protocol) *refusal {
	for _, inUse := range [...]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		if g.carrying[inUse] == 0 || inUse == protocol {
			continue
		}
		no := &refusal{reason: ProtocolNotAllowed, message: textOneProtocol(g.w.Mux, inUse, protocol), full: true}
		if g.live.keepsPlaceholder && g.carrying[inUse] == 1 {
			no.message = textPlaceholderProtocol(g.w.Mux, protocol, g.w.Keys.Placeholder)
		}
		return no
	}
	return nil
}

// number grants a number that was asked for.
func (g *grant) number(w *wanted, number int32) *refusal {
	slot := Slot{number, w.port.Protocol}
	mux := g.w.Mux
	if !mux.Explicit.Contains(number) {
		return &refusal{reason: OutOfRange, message: textNotExplicit(w.port.Name, slot, mux)}
	}
	if name, foreign := g.table.foreign[slot]; foreign {
		return &refusal{
			reason: MuxPortConflict, message: textForeign(w.port.Name, slot, name), advice: g.wayOut(slot), slot: slot,
		}
	}
	holder := g.table.holders.at(slot)
	switch {
	case g.table.leaving[slot]:
		return &refusal{
			reason: MuxPortConflict, message: textLeaving(w.port.Name, slot), advice: g.wayOut(slot), slot: slot,
		}
	case holder == nil:
		g.take(w, number, Static)
	case holder.Owner.Channel == g.channel.Key && (holder.State != Held || g.ours[holder]):
		g.revive(w, holder, Static)
	default:
		return g.conflict(w, holder)
	}
	return nil
}

// conflict says who has the number.
func (g *grant) conflict(w *wanted, holder *Claim) *refusal {
	no := &refusal{
		reason: MuxPortConflict, advice: g.wayOut(holder.Slot()), slot: holder.Slot(), holder: holder.Owner.Channel,
	}
	switch {
	case holder.State == InGrace:
		no.until = holder.Until
	case holder.State == Releasing && !g.takenBack[holder]:
		no.until = g.reservedUntil(holder) // as the ledger will say once this pass is done
	}
	said := no.until
	if g.published(holder) {
		said = time.Time{} // it is still on the mux, and its grace begins in some later pass
	}
	no.message = textConflict(w.port.Name, holder, said)
	return no
}

func (g *grant) wayOut(slot Slot) string {
	return textWayOut(g.table.nearest(g.w.Mux.Explicit, slot), g.w.Mux.Auto.Len() > 0)
}
