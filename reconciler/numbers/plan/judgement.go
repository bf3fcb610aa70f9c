package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Judgement is what a pass decides about a mux, without the writes that follow. Predictions are made from it: for a mux
// of 10,000 ports it takes a quarter of the work of a plan. A test checks that both agree.
type Judgement struct{ *pass }

// Judge decides about a mux, and plans no writes.
func Judge(w World) Judgement {
	p := newPass(&w, &Memory{})
	p.decidePorts()
	return Judgement{p}
}

// Answer is the decision about one channel.
type Answer struct {
	Reason  validation.Reason
	Message string
	// IsRefused is true if the channel doesn't get the ports that it asks for, and won't get them with the next pass.
	IsRefused  bool
	IsAccepted bool
	// IsAttached is true if the channel has ports on the mux.
	IsAttached bool
	// Remarks are warnings about an accepted channel.
	Remarks []Remark
	// Refused names the refused request; nil if the refusal isn't about ports.
	Refused *RefusedPorts
	// Key is the annotation with a DNS name that was refused; empty if the refusal isn't about one.
	Key string
}

// RefusedPorts says which request of a channel was refused.
type RefusedPorts struct {
	// Slot is the requested number. Its Number is 0 if the refusal isn't about one number.
	Slot Slot
	// Holder is the channel that has the slot, if one has.
	Holder types.NamespacedName
	// UsedUp is the protocol for which no number is free; empty if there are some.
	UsedUp corev1.Protocol
	// Advice is the way out; it may be empty.
	Advice string
}

// Remark is a warning about an accepted channel.
type Remark struct {
	Reason  validation.Reason
	Message string
	// Key is the annotation that external-dns reads, if the name is in such an annotation of the channel.
	Key string
}

// Of returns the decision about a channel of the World.
func (j Judgement) Of(key types.NamespacedName) Answer {
	c := j.byKey[key]
	answer := Answer{
		Reason: c.reason, Message: c.message, IsAccepted: c.accepted, IsAttached: c.showsAddress,
		IsRefused: !c.accepted && !c.deferred && !c.keepsSaid && !j.isBlockedByPick(c.refusal),
	}
	for _, remark := range c.remarks {
		answer.Remarks = append(answer.Remarks, Remark{remark.reason, j.textOf(remark), remark.denied.key})
	}
	if no := c.refusal; no != nil && no.isAboutPorts() {
		answer.Refused = &RefusedPorts{no.slot, no.holder, no.usedUp, no.advice}
	}
	if c.reason == HostnameNotAllowed && !c.accepted {
		answer.Key = c.Direct[0].Key
		if forbidden, _ := j.allowed.forbidden(c); len(forbidden) > 0 {
			answer.Key = forbidden[0].Key
		}
	}
	return answer
}

// isBlockedByPick is true if a number is refused only because it was picked for a channel that isn't on the mux yet.
// Requested numbers come before picked ones, so the other channel gets another number.
func (j Judgement) isBlockedByPick(no *refusal) bool {
	if no == nil || no.slot.Number == 0 {
		return false
	}
	holder := j.holders.at(no.slot)
	return holder != nil && holder.Source == Auto && !j.onMux.has(holder)
}

// Claims returns the held claims whose ports are on the mux, and those whose ports are about to come there.
func (j Judgement) Claims() (onMux, coming []Claim) {
	for _, claim := range j.claims {
		switch {
		case !claim.held():
		case j.onMux.has(claim):
			onMux = append(onMux, *claim)
		default:
			coming = append(coming, *claim)
		}
	}
	return onMux, coming
}

// ClaimsOf returns the held claims of a channel.
func (j Judgement) ClaimsOf(key types.NamespacedName) []Claim {
	var claims []Claim
	for _, claim := range j.claimsOf(key) {
		if claim.held() {
			claims = append(claims, *claim)
		}
	}
	return claims
}

// IsUnexplained is true for a port on the mux that has the form of ours and belongs to no channel.
func (j Judgement) IsUnexplained(port corev1.ServicePort) bool {
	_, foreign := j.foreign[SlotOf(&port)]
	return foreign && LooksOurs(port.Name)
}

// InUse returns how many slots of the mux are in use, and how many of them a namespace has.
func (j Judgement) InUse(namespace string) (all, own int) { return j.inUse, j.inUseBy[namespace] }

// Free counts the numbers of the mux's range that are free under a protocol.
func (j Judgement) Free(protocol corev1.Protocol) int { return j.freeNumbers(protocol) }

// Dropped returns the claims whose ports are in the list before, and not in the list after.
func Dropped(claims []Claim, before, after []corev1.ServicePort) []Claim {
	had, has := indexPorts(before, nil), indexPorts(after, nil)
	return slices.DeleteFunc(slices.Clone(claims), func(claim Claim) bool { return !had.has(&claim) || has.has(&claim) })
}
