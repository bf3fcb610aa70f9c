package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// judgement is a verdict in the making.
type judgement struct {
	accepted bool
	reason   validation.Reason
	message  string
	refusal  *refusal // why it didn't get what it asks for, if others or the mux's limits are why
	notes    []note   // what is to be said of an accepted channel
	attached bool     // it has claims in force, so it keeps address, ports and backends
	// deferred is true if the next pass, which comes at once, knows better: nothing is said until then.
	deferred bool
	// carryOn is true if what was said before stays.
	carryOn bool
	// drifted is true if somebody changed what we had said; that is put right, and tells nothing of backends.
	drifted bool
}

// note is something to say of a channel that was accepted all the same.
type note struct {
	reason  validation.Reason
	message string
}

// refusal says why a channel doesn't get what it asks for.
type refusal struct {
	reason validation.Reason
	// message is what is so, and advice the way out. Advice changes with what others do, and isn't repeated for that.
	message, advice string
	// slot is what was asked for and couldn't be had; holder is who has it.
	slot   Slot
	holder types.NamespacedName
	// usedUp is the protocol for which no number could be picked.
	usedUp corev1.Protocol
	// until is when it may be otherwise, if that is known.
	until time.Time
	// full is true if there was no room, rather than no number.
	full bool
}

// accept says so, and what else is to be said.
func (p *pass) accept(c *member) {
	j := &c.judgement
	j.accepted, j.reason, j.message, j.refusal = true, Accepted, p.said.accepted, nil
	var outside []*Claim
	for _, claim := range c.claims {
		if claim.State == Held && p.outOfRange(claim) {
			outside = append(outside, claim)
		}
	}
	if claim := p.lacks(c); claim != nil {
		j.notes = append(j.notes, note{MuxPatchRefused, textLeftOff(claim, p.w.Key, p.w.Refused[c.Key])})
	}
	slices.SortFunc(outside, func(a, b *Claim) int { return compareClaims(*a, *b) })
	for _, claim := range outside {
		j.notes = append(j.notes, note{OutOfRange, textOutOfRange(claim, p.w.Mux)})
	}
}

func (p *pass) outOfRange(claim *Claim) bool {
	if claim.Source == Auto {
		return !p.w.Mux.Auto.Contains(claim.Public)
	}
	return !p.w.Mux.Explicit.Contains(claim.Public)
}

func (p *pass) refuse(c *member, no *refusal) {
	j := &c.judgement
	j.accepted, j.reason, j.message, j.refusal = false, no.reason, no.message, no
}

// deferrals are of channels that were refused what is free once this pass is done. Whoever is told no meanwhile would
// be told yes right after.
func (p *pass) deferrals() {
	for _, c := range p.sorted {
		j := &c.judgement
		if j.refusal == nil {
			continue
		}
		if p.passes(j.refusal, types.NamespacedName{}) {
			j.deferred = true
			p.lookAgain(p.now)
		}
		if !j.refusal.until.IsZero() {
			p.lookAgain(j.refusal.until)
		}
	}
}

// passes is true if what stands in the way is gone once this pass is done, and isn't the channel's own.
func (p *pass) passes(no *refusal, own types.NamespacedName) bool {
	if no.slot.Number != 0 {
		holder := p.table.holders.at(no.slot)
		return holder != nil && p.leaves(holder) && holder.Owner.Channel != own || p.table.leaving[no.slot]
	}
	if no.usedUp == "" {
		return false
	}
	for _, claim := range p.claims {
		if claim.Owner.Protocol == no.usedUp && claim.Owner.Channel != own && p.leaves(claim) &&
			p.w.Mux.Auto.Contains(claim.Public) {
			return true
		}
	}
	for slot := range p.table.leaving {
		if slot.Protocol == no.usedUp && p.w.Mux.Auto.Contains(slot.Number) {
			return true
		}
	}
	return false
}

// leaves is true if a claim's number is free once this pass is done.
func (p *pass) leaves(claim *Claim) bool {
	return claim.State == Releasing && p.w.Mux.Grace == 0 && !p.published(claim)
}
