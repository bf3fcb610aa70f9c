package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// write decides the new content of ledger and mux. A claim that is released leaves the ledger only after a write of the mux that follows its
// release, even if only the generation on the mux changes: a slow process that goes by the old ledger meets a new resourceVersion.
func (p *pass) write() {
	published := p.publishedClaims()
	ports := p.ports(published)
	change := p.diffPorts(ports)
	ledger := p.ledgerNow()
	was := &p.before.ledger
	anew := p.before.renew || p.w.Ledger.Moved
	releases := slices.ContainsFunc(ledger.Claims, func(c Claim) bool { return c.State == Releasing })
	if anew || (!change.empty() || releases) && !sameClaims(ledger.Claims, was.Claims) {
		ledger.Generation = p.nextGeneration()
		p.plan.Reserve = &LedgerWrite{Ledger: ledger, Why: p.whyReserve()}
		was = &ledger
	}
	p.publish(target{ports, published, change, p.writeNotes(published), ledger.Generation})
	settled := p.ledgerAfter(ledger, ports)
	mend := p.before.mend != "" && p.plan.Reserve == nil
	if mend || !sameClaims(settled.Claims, was.Claims) || !slices.Equal(settled.Hostnames, was.Hostnames) {
		p.plan.Settle = &LedgerWrite{Ledger: settled, Why: whySettle(was, &settled, p.before.mend, mend)}
	}
	p.deferRefusals(ledger, settled)
	p.setInForce(published)
	p.tellRebuilt()
	p.plan.Changed = slices.Sorted(maps.Keys(p.changed))
	p.measure()
}

// ledgerNow is the ledger as it must be before the mux changes.
func (p *pass) ledgerNow() Ledger {
	now := Ledger{
		Mux: p.w.Key, MuxUID: p.w.Mux.UID, HeldUntil: p.holdUntil, Provider: p.w.Mux.Provider.Key,
		Generation: p.before.ledger.Generation, Hostnames: p.dns.holders,
	}
	now.Claims = make([]Claim, 0, len(p.claims))
	for _, claim := range p.claims {
		now.Claims = append(now.Claims, *claim)
	}
	now = now.sorted()
	if sameClaims(now.Claims, p.before.ledger.Claims) {
		now.Claims = p.before.ledger.Claims
	}
	return now
}

// ledgerAfter is the ledger once the mux has changed: what went is dropped, or held for its owner for a while.
func (p *pass) ledgerAfter(now Ledger, ports []corev1.ServicePort) Ledger {
	if !slices.ContainsFunc(now.Claims, func(c Claim) bool { return c.State == Releasing }) {
		return now
	}
	names := make(map[Slot]string, len(ports))
	for i := range ports {
		names[slotOf(&ports[i])] = ports[i].Name
	}
	after := now.Clone()
	after.Claims = after.Claims[:0]
	var graces []*Claim
	for _, claim := range now.Claims {
		if claim.State == Releasing && names[claim.Slot()] != claim.MuxName {
			until := p.reservedUntil(&claim)
			if until.IsZero() {
				continue
			}
			claim.State, claim.Until = InGrace, until
		}
		after.Claims = append(after.Claims, claim)
	}
	for i := range after.Claims {
		if claim := &after.Claims[i]; claim.State == InGrace {
			graces = append(graces, claim)
			p.lookAgain(claim.Until)
		}
	}
	over := map[Slot]bool{}
	for _, claim := range p.tooMany(graces) {
		over[claim.Slot()] = true
	}
	after.Claims = slices.DeleteFunc(after.Claims, func(c Claim) bool { return c.State == InGrace && over[c.Slot()] })
	return after
}

// deferRefusals says nothing of refusals that the next pass can lift, because this pass frees numbers: a channel that is told no would be told yes
// right after.
func (p *pass) deferRefusals(now, after Ledger) {
	freed := map[Slot]bool{}
	for i := range now.Claims {
		freed[now.Claims[i].Slot()] = true
	}
	for i := range after.Claims {
		delete(freed, after.Claims[i].Slot())
	}
	maps.Copy(freed, p.leaving)
	picks := map[corev1.Protocol]bool{}
	for slot := range freed {
		picks[slot.Protocol] = picks[slot.Protocol] || p.w.Mux.Auto.Contains(slot.Number)
	}
	for _, c := range p.channels {
		switch no := c.refusal; {
		case no == nil:
		case freed[no.slot] || picks[no.usedUp]:
			c.deferred = true
			p.lookAgain(p.now)
		case !no.until.IsZero():
			p.lookAgain(no.until)
		}
	}
}

// setInForce lists the claims that get backends: those that belong on the mux, and those that leave it as long as they are there.
func (p *pass) setInForce(published []*Claim) {
	p.plan.InForce = make([]Claim, 0, len(published))
	for _, claim := range published {
		p.plan.InForce = append(p.plan.InForce, *claim)
	}
	for _, claim := range p.claims {
		switch {
		case p.isPublished(claim):
		case claim.State != InGrace && p.live.has(claim):
			p.plan.Leaving = append(p.plan.Leaving, *claim)
		case claim.held() && p.m.Refused[claim.Owner.Channel].Withheld: // it comes back to the mux
			p.plan.InForce = append(p.plan.InForce, *claim)
		}
	}
	slices.SortFunc(p.plan.InForce, compareClaims)
	slices.SortFunc(p.plan.Leaving, compareClaims)
}

// tellRebuilt tells that the ledger was corrected, unless there never was one.
func (p *pass) tellRebuilt() {
	lost := p.before.renew && (p.w.Ledger.Condition != Missing || p.w.Mux.Generation > 0)
	if lost || p.w.Ledger.Unlabelled {
		p.plan.Told = append(p.plan.Told, Event{
			Object: p.w.Key, Reason: MuxDriftCorrected, Message: TextPutRight([]string{p.before.mend}),
		})
	}
}

// measure is for metrics and the console.
func (p *pass) measure() {
	u := &p.plan.Usage
	u.Limit, u.RangeSize, u.Foreign = p.w.Mux.Cap.Ports, p.w.Mux.Auto.Len(), len(p.foreign)
	for _, claim := range p.claims {
		switch claim.State {
		case Held:
			u.Held++
		case InGrace:
			u.InGrace++
		case Releasing:
		}
	}
	u.RangeFree = p.freeNumbers(corev1.ProtocolTCP)
}

// freeNumbers counts the numbers of the range that are free under a protocol.
func (p *pass) freeNumbers(protocol corev1.Protocol) int {
	free := 0
	for _, run := range p.w.Mux.Auto.Ranges() {
		free += countFree(run, p.taken[protocol])
	}
	return free
}
