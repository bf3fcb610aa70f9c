package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// decision is what the pass decided about a channel.
type decision struct {
	accepted bool
	reason   validation.Reason
	message  string
	refusal  *refusal // why the channel doesn't get what it asks for
	remarks  []remark // warnings about an accepted channel
	// showsAddress is true if the channel shows the mux's address: it has ports on the mux.
	showsAddress bool
	// keepsSaid is true if the conditions stay as they are, because the mux is frozen.
	keepsSaid bool
	// deferred is true if the next pass, which comes at once, can meet the request: the channel is told nothing until
	// then.
	deferred bool
}

// refusal is the reason why a request of a channel is refused.
type refusal struct {
	reason validation.Reason
	// message states the reason, and advice the way out. A change of the advice alone isn't announced.
	message, advice string
	// slot is the requested number; holder is the channel that has it.
	slot   Slot
	holder types.NamespacedName
	// usedUp is the protocol for which no number is free.
	usedUp corev1.Protocol
	// until is when the answer may change, if that is known.
	until time.Time
}

// isAboutPorts is true if a request for other numbers, or for fewer ports, could be accepted.
func (r *refusal) isAboutPorts() bool {
	switch r.reason {
	case MuxNotFound, NamespaceNotAllowed, HostnameNotAllowed, NotAccepted, Disabled, MuxPatchRefused,
		validation.SourceRangesNotSupported,
		SourceRangesExceeded:
		return false
	}
	return true
}

func (d *decision) refuse(no *refusal) {
	d.accepted, d.reason, d.message, d.refusal = false, no.reason, no.message, no
}

// accept marks the channel as accepted, and adds remarks.
func (p *pass) accept(c *channel) {
	c.accepted, c.reason, c.message, c.refusal = true, Accepted, p.said.accepted, nil
	for _, excess := range c.Excesses { // it is older than the limit, or came while admission was off
		c.remarks = append(c.remarks, remark{reason: excess.Reason, message: excess.Message})
	}
	forbidden, _ := p.allowed.forbidden(c)
	for _, name := range forbidden { // an incumbent may be older than the mux's rule
		c.remarks = append(c.remarks, remark{reason: HostnameNotAllowed, denied: denial{name: name.Name, key: name.Key}})
	}
	for _, claim := range sortedClaims(c.claims) {
		// one more than a message lists, so that it ends with "and more"
		if claim.held() && p.isOutOfRange(claim) && len(c.remarks) <= MaxRemarks {
			c.remarks = append(c.remarks, remark{reason: OutOfRange, message: textOutOfRange(claim, p.w.Mux)})
		}
	}
}

func (p *pass) isOutOfRange(claim *Claim) bool {
	if claim.Source == Auto {
		return !p.w.Mux.Auto.Contains(claim.Public)
	}
	return !p.w.Mux.Explicit.Contains(claim.Public)
}

// remark is a warning about an accepted channel.
type remark struct {
	reason  validation.Reason
	message string // empty if a DNS name was denied
	denied  denial
}

// denial is a DNS name that the mux doesn't take, and why. A channel may have dozens, and a message lists few of them:
// only those are made into text.
type denial struct {
	name   string
	holder string // the namespace that has the name; empty if none has
	full   bool   // the mux has no room for more names
	unread bool   // the namespace asks for too many names
	key    string // the channel's own annotation with the name, if external-dns reads it there
}

func (p *pass) textOf(r remark) string {
	switch {
	case r.message != "":
		return r.message
	case r.denied.key != "":
		return textDirect(r.denied.key, r.denied.name, p.w.Mux)
	case r.denied.holder != "":
		return textHostnameTaken(r.denied.name, r.denied.holder)
	case r.denied.unread:
		return textTooManyHostnames(r.denied.name, p.allowed.most)
	case r.denied.full:
		return textHostnamesFull(r.denied.name)
	}
	return textHostnameNotAllowed(r.denied.name, p.w.Mux)
}
