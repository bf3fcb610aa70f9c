package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// deferRefusals defers a refusal if this pass frees the number, or a number for auto: the next pass follows at once,
// and can give it. Until then the channel isn't told. A refusal that isn't about a number has the zero Slot, which is
// never free.
func (w *writing) deferRefusals(now, after Ledger) {
	freed := map[Slot]bool{}
	for i := range now.Claims {
		if claim := &now.Claims[i]; !claim.held() {
			freed[claim.Slot()] = true
		}
	}
	for i := range after.Claims {
		delete(freed, after.Claims[i].Slot())
	}
	for i := range now.Claims {
		if claim := &now.Claims[i]; claim.IsRange() && freed[claim.Slot()] {
			for slot := range claim.Span().slots() {
				freed[slot] = true
			}
		}
	}
	maps.Copy(freed, w.leaving)
	picks := map[corev1.Protocol]bool{}
	for slot := range freed {
		picks[slot.Protocol] = picks[slot.Protocol] || w.w.Mux.Auto.Contains(slot.Number)
	}
	for _, c := range w.channels {
		switch no := c.refusal; {
		case no == nil:
		case freed[no.slot] || picks[no.usedUp]:
			c.deferred = true
			w.lookAgain(w.now)
		case !no.until.IsZero():
			w.lookAgain(no.until)
		}
	}
}

// setInForce lists the claims that get backends: those that belong on the mux, those that the API server keeps off it
// for now, and those that this pass takes off it.
func (w *writing) setInForce(published, others []*Claim) {
	w.plan.InForce = make([]Claim, 0, len(published))
	for _, claim := range published {
		w.plan.InForce = append(w.plan.InForce, *claim)
	}
	for _, claim := range others {
		switch {
		case claim.State != InGrace && w.onMux.has(claim):
			w.plan.Leaving = append(w.plan.Leaving, *claim)
		case claim.held() && w.m.Refused[claim.Owner.Channel].Withheld: // it comes back to the mux
			w.plan.InForce = append(w.plan.InForce, *claim)
		}
	}
	slices.SortFunc(w.plan.InForce, compareClaims)
	slices.SortFunc(w.plan.Leaving, compareClaims)
}

// tellRebuilt adds an Event if the pass corrects a ledger. The first ledger of a mux is no correction.
func (w *writing) tellRebuilt() {
	lost := w.before.renew && (w.w.Ledger.Condition != Missing || w.w.Mux.Generation > 0)
	if lost || w.w.Ledger.Unlabelled {
		w.plan.Told = append(w.plan.Told, Event{
			Object: w.w.Key, Reason: MuxDriftCorrected, Message: TextPutRight([]string{w.before.mend}),
		})
	}
}

// measure fills Plan.Usage.
func (p *pass) measure() {
	u := &p.plan.Usage
	u.Limit, u.RangeSize, u.Foreign = p.w.Mux.Cap.Ports, p.w.Mux.Auto.Len(), len(p.foreign)
	for _, claim := range p.claims {
		switch claim.State {
		case Held:
			u.Held += claim.Span().size()
		case InGrace:
			u.InGrace += claim.Span().size()
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
