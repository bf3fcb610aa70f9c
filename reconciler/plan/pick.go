package plan

import (
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// picked grants numbers where any will do.
func (g *grant) picked() *refusal {
	ranges := g.w.Mux.Auto.Ranges()
	for i := range g.wanted {
		w := &g.wanted[i]
		if w.fixed() != 0 || w.done {
			continue
		}
		if len(ranges) == 0 {
			return &refusal{
				reason: validation.InvalidPortMapping, message: textNoRange(w.port.Name, g.w.Mux, g.w.Keys.PortRange),
			}
		}
		if !g.pick(w, ranges) {
			return &refusal{
				reason: validation.InvalidPortMapping, message: textExhausted(w.port.Name, w.port.Protocol, g.w.Mux),
				usedUp: w.port.Protocol,
			}
		}
	}
	return nil
}

// pick grants a number: the one that the port had before, one together with the port of the other protocol, or any.
func (g *grant) pick(w *wanted, ranges []validation.PortRange) bool {
	if old := g.former(w); old != nil {
		g.revive(w, old, Auto)
		return true
	}
	if g.pair(w, ranges) {
		return true
	}
	if number := g.table.auto(ranges, w.port.Protocol); number != 0 {
		g.take(w, number, Auto)
		return true
	}
	if spare := g.spare(w); spare != nil {
		g.revive(w, spare, Auto)
		return true
	}
	return false
}

// spare is a number in range that is still held for another port of the channel.
func (g *grant) spare(w *wanted) *Claim {
	for _, claim := range g.channel.claims {
		if claim.Owner.Protocol == w.port.Protocol && g.spared(claim) {
			return claim
		}
	}
	return nil
}

// former is what the port had before it went, if that is still held for it and in range.
func (g *grant) former(w *wanted) *Claim {
	var found *Claim
	for _, claim := range g.channel.claims {
		if claim.Owner == w.id(g.channel) && g.spared(claim) && (found == nil || claim.Until.After(found.Until)) {
			found = claim
		}
	}
	return found
}

// spared is true for a claim that was let go, and whose number can be picked again: it is in range, and nobody has put a
// port of his own there since it came off.
func (g *grant) spared(claim *Claim) bool {
	_, foreign := g.table.foreign[claim.Slot()]
	return claim.State != Held && !foreign && g.w.Mux.Auto.Contains(claim.Public)
}

// pair gives ports that share their number under several protocols one public number, if one is free under all.
func (g *grant) pair(w *wanted, ranges []validation.PortRange) bool {
	var set []*wanted
	var protocols []corev1.Protocol
	for i := range g.wanted {
		other := &g.wanted[i]
		if other.port.Port != w.port.Port || other.fixed() != 0 || other.has != nil || other.done {
			continue
		}
		if other != w && g.former(other) != nil {
			return false
		}
		set, protocols = append(set, other), append(protocols, other.port.Protocol)
	}
	if len(set) < 2 || w.has != nil {
		return false
	}
	number := g.table.auto(ranges, protocols...)
	if number == 0 {
		return false
	}
	for _, member := range set {
		g.take(member, number, Auto)
	}
	return true
}
