package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// write decides what is written on ledger and mux.
func (p *pass) write(before *established) {
	published := p.publishedClaims()
	ports := p.ports(published)
	change := p.diffPorts(ports)
	reserve := p.ledgerNow(before)
	anew := before.renew || p.w.Ledger.Moved
	moves := !change.empty() || anew || len(p.takenBack) > 0 // which the mux is stamped for
	if moves && (anew || !sameClaims(reserve.Claims, before.ledger.Claims)) {
		reserve = p.reserve(reserve, before)
	}
	p.publish(target{ports, published, change, p.writeNotes(published), reserve.Generation})
	settled := p.ledgerAfter(reserve, ports)
	written := before.ledger
	if p.plan.Reserve != nil {
		written = p.plan.Reserve.Ledger
	}
	mend := before.mend != "" && p.plan.Reserve == nil
	if mend || !sameClaims(settled.Claims, written.Claims) || !slices.Equal(settled.Hostnames, written.Hostnames) {
		p.plan.Settle = &LedgerWrite{Ledger: settled, Why: whySettle(&written, &settled, before.mend, mend)}
	}
	p.force(published, reserve.Claims)
	p.tellRebuilt(before)
	p.measure()
}

// reserve writes a ledger of a new generation, before the mux changes.
func (p *pass) reserve(ledger Ledger, before *established) Ledger {
	ledger.Generation = p.next(before)
	p.plan.Reserve = &LedgerWrite{Ledger: ledger, Why: p.whyReserve(before)}
	return ledger
}

// ledgerNow is the ledger as it must be before the mux changes.
func (p *pass) ledgerNow(before *established) Ledger {
	now := Ledger{
		Mux: p.w.Key, MuxUID: p.w.Mux.UID, HeldUntil: p.holdUntil, Provider: p.w.Mux.Provider.Key,
		Generation: before.ledger.Generation, Hostnames: p.dns.holders,
	}
	if p.asBefore(before.ledger.Claims) {
		now.Claims = before.ledger.Claims
		return now.sorted()
	}
	now.Claims = make([]Claim, 0, len(p.claims))
	for _, claim := range p.claims {
		now.Claims = append(now.Claims, *claim)
	}
	return now.sorted()
}

// asBefore is true if no claim changed.
func (p *pass) asBefore(claims []Claim) bool {
	if len(claims) != len(p.claims) {
		return false
	}
	for i := range claims {
		if !claims[i].same(p.claims[i]) {
			return false
		}
	}
	return true
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
	never := make(map[Slot]bool, len(p.takenBack)) // there is nothing to hold for anybody
	for claim := range p.takenBack {
		never[claim.Slot()] = true
	}
	after := now.Clone()
	after.Claims = after.Claims[:0]
	for _, claim := range now.Claims {
		if claim.State == Releasing && names[claim.Slot()] != claim.MuxName {
			until := p.reservedUntil(&claim)
			if until.IsZero() || never[claim.Slot()] {
				continue
			}
			claim.State, claim.Until = InGrace, until
			p.lookAgain(claim.Until)
		}
		after.Claims = append(after.Claims, claim)
	}
	p.boundGraces(&after)
	return after
}

// boundGraces drops those that there would be no room for. Who was refused such a number may have it in the next pass.
func (p *pass) boundGraces(ledger *Ledger) {
	var held []*Claim
	for i := range ledger.Claims {
		if claim := &ledger.Claims[i]; claim.State == InGrace {
			held = append(held, claim)
		}
	}
	p.pushedOut = map[Slot]bool{}
	for _, claim := range p.tooMany(held) {
		p.pushedOut[claim.Slot()] = true
	}
	ledger.Claims = slices.DeleteFunc(ledger.Claims, func(c Claim) bool { return c.State == InGrace && p.pushedOut[c.Slot()] })
	p.deferTo(p.pushedOut)
}

// force tells which claims backends go by: those on the mux, those that are to come back to it, and for as long as they are there,
// those that leave.
func (p *pass) force(published []*Claim, all []Claim) {
	p.plan.InForce = slices.Clip(all)
	if len(published) < len(all) {
		p.plan.InForce = make([]Claim, 0, len(published))
		for _, claim := range published {
			p.plan.InForce = append(p.plan.InForce, *claim)
		}
	}
	for _, claim := range p.claims {
		if p.leftOff[claim] {
			p.plan.InForce = append(p.plan.InForce, *claim)
		}
		if claim.State != InGrace && p.live.has(claim) && !p.published(claim) {
			p.plan.Leaving = append(p.plan.Leaving, *claim)
		}
	}
	slices.SortFunc(p.plan.Leaving, compareClaims)
}

// measure is for metrics and the console.
func (p *pass) measure() {
	u := &p.plan.Usage
	u.Limit, u.RangeSize = p.w.Mux.Cap.Ports, p.w.Mux.Auto.Len()
	u.Foreign = len(p.table.foreign)
	for _, claim := range p.claims {
		switch claim.State {
		case Held:
			u.Held++
		case InGrace:
			u.InGrace++
		case Releasing:
		}
	}
	for _, run := range p.w.Mux.Auto.Ranges() {
		u.RangeFree += countFree(run, p.table.taken[corev1.ProtocolTCP])
	}
}
