package plan

import (
	"maps"
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
	message string // none if a name was denied
	denied  denial
}

// denial is of a DNS name that isn't gathered. A channel may have dozens, few of which are told: each becomes a sentence
// only then, or a pass would hold more text than it was given.
type denial struct {
	name   string
	holder string // the namespace that has it, if one does
	full   bool   // there is no room for more
	unread bool   // its namespace asks for too many names
	key    string // the annotation that external-dns takes it from, if that is the channel's own
}

func (p *pass) textOf(n note) string {
	switch {
	case n.message != "":
		return n.message
	case n.denied.key != "":
		return textDirect(n.denied.key, n.denied.name, p.w.Mux)
	case n.denied.holder != "":
		return textHostnameTaken(n.denied.name, n.denied.holder)
	case n.denied.unread:
		return textTooManyHostnames(n.denied.name, p.allowed.most)
	case n.denied.full:
		return textHostnamesFull(n.denied.name)
	}
	return textHostnameNotAllowed(n.denied.name, p.w.Mux)
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
		j.notes = append(j.notes, note{reason: MuxPatchRefused, message: textLeftOff(claim, p.w.Key, p.w.Refused[c.Key])})
	}
	p.judgeDirect(c)
	slices.SortFunc(outside, func(a, b *Claim) int { return compareClaims(*a, *b) })
	for _, claim := range outside[:min(len(outside), maxNotes+1)] { // one too many tells that there are more
		j.notes = append(j.notes, note{reason: OutOfRange, message: textOutOfRange(claim, p.w.Mux)})
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

// deferrals are of channels that were refused what is free once this pass is done.
func (p *pass) deferrals() {
	goes := maps.Clone(p.table.leaving)
	for _, claim := range p.claims {
		if p.leaves(claim) {
			goes[claim.Slot()] = true
		}
	}
	p.deferTo(goes)
	for _, c := range p.sorted {
		if no := c.judgement.refusal; no != nil && !no.until.IsZero() {
			p.lookAgain(no.until)
		}
	}
}

// deferTo says nothing of refusals that the next pass takes back, because of slots that are free by then: whoever is told no
// meanwhile would be told yes right after.
func (p *pass) deferTo(free map[Slot]bool) {
	picks := map[corev1.Protocol]bool{}
	for slot := range free {
		picks[slot.Protocol] = picks[slot.Protocol] || p.w.Mux.Auto.Contains(slot.Number)
	}
	for _, c := range p.sorted {
		if j := &c.judgement; j.refusal != nil && (free[j.refusal.slot] || picks[j.refusal.usedUp]) {
			j.deferred = true
			p.lookAgain(p.now)
		}
	}
}

// passes is true if what stands in the way is gone once this pass is done, and isn't the channel's own.
func (p *pass) passes(no *refusal, own types.NamespacedName) bool {
	goes := func(claim *Claim) bool { return p.leaves(claim) && claim.Owner.Channel != own }
	if no.usedUp == "" {
		holder := p.table.holders.at(no.slot)
		return holder != nil && goes(holder) || p.table.leaving[no.slot]
	}
	picked := func(slot Slot) bool { return slot.Protocol == no.usedUp && p.w.Mux.Auto.Contains(slot.Number) }
	for slot := range p.table.leaving {
		if picked(slot) {
			return true
		}
	}
	return slices.ContainsFunc(p.claims, func(claim *Claim) bool { return goes(claim) && picked(claim.Slot()) })
}

// leaves is true if a claim's number is free once this pass is done.
func (p *pass) leaves(claim *Claim) bool {
	return claim.State == Releasing && (p.reservedUntil(claim).IsZero() || p.takenBack[claim]) && !p.published(claim)
}
