package plan

import (
	"maps"
	"slices"
)

// writing plans the writes of ledger and mux.
type writing struct{ *pass }

// decideWrites decides the new content of ledger and mux. A released claim leaves the ledger only after a write of the
// mux that follows its release, even if that write changes only the generation. So a slow process that decided from the
// old ledger meets a new resourceVersion.
func decideWrites(p *pass) {
	w := &writing{p}
	published, others := w.publishedClaims()
	ports, ranges := w.ports(published), w.ranges(published)
	change := w.diffPorts(ports, ranges)
	ledger := w.ledgerNow()
	was, mend := &w.before.ledger, w.before.mend
	needsGeneration := w.before.renew || w.w.Ledger.Moved
	releases := slices.ContainsFunc(ledger.Claims, func(c Claim) bool { return c.State == Releasing })
	if needsGeneration || (!change.empty() || releases) && !SameClaims(ledger.Claims, was.Claims) {
		ledger.Generation = w.nextGeneration()
		w.plan.Reserve = &LedgerWrite{Ledger: ledger, Why: whyLedger(mend, was, &ledger)}
		was, mend = &ledger, ""
	}
	w.patchMux(target{ports, ranges, published, change, w.writeNotes(published), ledger.Generation})
	settled := w.ledgerAfter(ledger, indexPorts(ports, ranges))
	if mend != "" || !SameClaims(settled.Claims, was.Claims) || !slices.Equal(settled.Hostnames, was.Hostnames) {
		w.plan.Settle = &LedgerWrite{Ledger: settled, Why: whyLedger(mend, was, &settled)}
	}
	w.deferRefusals(ledger, settled)
	w.setInForce(published, others)
	w.tellRebuilt()
	w.plan.Changed = slices.Sorted(maps.Keys(w.changed))
	w.measure()
}

// ledgerNow returns the ledger as it must be before the mux changes.
func (w *writing) ledgerNow() Ledger {
	now := Ledger{
		Mux: w.w.Key, MuxUID: w.w.Mux.UID, HeldUntil: w.holdUntil, Provider: w.w.Mux.Provider.Key,
		Generation: w.before.ledger.Generation, Hostnames: w.dns.holders,
	}
	isSame := func(now *Claim, was Claim) bool { return now.same(&was) }
	if slices.EqualFunc(w.claims, w.before.ledger.Claims, isSame) {
		now.Claims = w.before.ledger.Claims
		return now
	}
	now.Claims = make([]Claim, 0, len(w.claims))
	for _, claim := range w.claims {
		now.Claims = append(now.Claims, *claim)
	}
	return now.sorted()
}

// ledgerAfter returns the ledger for after the change of the mux: released claims that are off the mux are dropped, or
// reserved for their owner for a while.
func (w *writing) ledgerAfter(now Ledger, mux portsOnMux) Ledger {
	if !slices.ContainsFunc(now.Claims, func(c Claim) bool { return c.State == Releasing }) {
		return now
	}
	after := now.Clone()
	after.Claims = after.Claims[:0]
	var graces []*Claim
	for _, claim := range now.Claims {
		if claim.State == Releasing && !mux.has(&claim) {
			until := w.reservedUntil(&claim)
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
			w.lookAgain(claim.Until)
		}
	}
	over := map[Slot]bool{}
	for _, claim := range w.tooMany(graces) {
		over[claim.Slot()] = true
	}
	after.Claims = slices.DeleteFunc(after.Claims, func(c Claim) bool { return c.State == InGrace && over[c.Slot()] })
	return after
}
