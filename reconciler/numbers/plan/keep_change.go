package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"nowake.ai/svc-lb-mux/validation"
)

// isMissing is true for a held claim whose port isn't on the mux.
func (p *pass) isMissing(claim *Claim) bool { return claim.held() && !p.onMux.has(claim) }

// isReturning is true for a channel whose owner enables it again or removes its source ranges, also while its return is
// postponed.
func (k *keeping) isReturning(c *channel) bool {
	said := meta.FindStatusCondition(c.Conditions, k.w.Keys.Accepted)
	if said == nil || len(c.Address) > 0 {
		return false
	}
	switch validation.Reason(said.Reason) {
	case Disabled, validation.SourceRangesNotSupported, SourceRangesExceeded, PortChangesLimited:
		return true
	}
	return false
}

// postpone refuses a change of a channel whose namespace changes ports on the mux too often. Numbers that the channel
// gives up still leave the mux at once. After a rebuild of the ledger, nothing is postponed.
func (p *pass) postpone(c *channel) *refusal {
	until := p.limitedUntil(c.Key.Namespace)
	if until.IsZero() {
		return nil
	}
	p.lookAgain(until)
	return &refusal{
		reason: PortChangesLimited, message: textLimited(c.Key.Namespace, p.w.Key, c.hasNumbers(), until), until: until,
	}
}

func (p *pass) limitedUntil(namespace string) time.Time {
	until := p.m.LimitedUntil[namespace]
	if p.before.renew || !until.After(p.now) {
		return time.Time{}
	}
	return until
}

// meets is true if a claim is what the port asks for. An auto port keeps its number even if the range was changed
// since.
func (p *pass) meets(claim *Claim, port *validation.ChannelPort) bool {
	switch port.Request.Kind {
	case validation.Auto:
		return claim.Source == Auto || p.w.Mux.Auto.Contains(claim.Public)
	case validation.Own, validation.Number:
		return claim.Span() == NewSpan(port.Request.Number, port.Request.Last, port.Protocol)
	case validation.Unread: // a problem, refused elsewhere: the port keeps what it has
	}
	return true
}

// following returns the claim with the source and the own number that its port has now.
func (c *Claim) following(port *validation.ChannelPort) Claim {
	now := *c
	switch port.Request.Kind {
	case validation.Auto:
		now.Source, now.Port = Auto, port.Port
	case validation.Own, validation.Number:
		now.Source, now.Port = Static, port.Port
	case validation.Unread:
	}
	return now
}

// update changes a claim's fields as its port changed, without a change of its number. It returns false if the
// namespace has used up its changes: then the edit is postponed.
func (k *keeping) update(claim *Claim, now Claim) bool {
	if *claim == now {
		return true
	}
	namespace := claim.Owner.Channel.Namespace
	if !k.limitedUntil(namespace).IsZero() {
		return false
	}
	*claim, k.changed[namespace] = now, true
	return true
}
