package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A namespace whose channels change their ports on the mux too often has to wait: World.Limited says until when. Newcomers and
// edits of its channels wait as a whole, and incumbents keep what they have. What is given up is taken off the mux at once. Where
// the ledger is rebuilt nothing waits.
//
// Each pass tells in Plan.Changed which namespaces change ports, so that the process can count.

// limitedUntil returns when a namespace may change its ports again; zero if it may now.
func (p *pass) limitedUntil(namespace string) time.Time {
	until := p.w.Limited[namespace]
	if p.rebuilt || !until.After(p.now) {
		return time.Time{}
	}
	return until
}

// postpone refuses a channel's change until its namespace may change ports again. It returns false if it may now.
func (p *pass) postpone(c *member) bool {
	until := p.limitedUntil(c.Key.Namespace)
	if until.IsZero() {
		return false
	}
	p.refuse(c, &refusal{
		reason: PortChangesLimited, message: textLimited(c.Key.Namespace, p.w.Key, until), until: until,
	})
	return true
}

// changes notes that ports of a channel are added or changed on the mux because its owner asked for it.
func (p *pass) changes(c *member) { p.changed[c.Key.Namespace] = true }

// returns is true for a channel that its owner withdrew and enables again: the mux doesn't have its ports yet.
func (p *pass) returns(c *member) bool {
	said := find(c.Conditions, p.w.Keys.Accepted)
	withdrawn := said != nil && (said.Reason == string(Disabled) || said.Reason == string(PortChangesLimited)) && len(c.Address) == 0
	return withdrawn && !c.Disabled && slices.ContainsFunc(c.claims, p.missing)
}

func (p *pass) missing(claim *Claim) bool { return claim.State == Held && !p.live.has(claim) }

// keepOff keeps the ports of a channel that returns off the mux, until its namespace may change ports again.
func (p *pass) keepOff(c *member) bool {
	if !p.returns(c) {
		return false
	}
	if !p.postpone(c) {
		p.changes(c)
		return false
	}
	for _, claim := range c.claims {
		if p.missing(claim) {
			p.leftOff[claim] = true
		}
	}
	return true
}

// protocolOf returns the appProtocol of a claim's port on the mux. A change of it is a change of the port.
func (p *pass) protocolOf(c *member, claim *Claim, live *corev1.ServicePort) *string {
	asked := appProtocol(c, claim)
	if live == nil || slotOf(live) != claim.Slot() || deref(live.AppProtocol) == deref(asked) {
		return asked
	}
	if until := p.limitedUntil(c.Key.Namespace); !until.IsZero() {
		p.lookAgain(until)
		return live.AppProtocol
	}
	p.changes(c)
	return asked
}

func (p *pass) tellChanged() { p.plan.Changed = slices.Sorted(maps.Keys(p.changed)) }
