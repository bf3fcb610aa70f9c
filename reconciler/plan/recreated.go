package plan

import "time"

// RecreatedHold is how long the numbers of missing channels are held after their mux was deleted and created again. A sync of
// a whole application creates the mux first, and its channels seconds to minutes later.
const RecreatedHold = 5 * time.Minute

// recognize compares the mux's UID with the one in the ledger. Another UID means that the mux was deleted and created again,
// and starts the hold. The ledger records when the hold ends, so that a restart of the process keeps it. A ledger without a
// UID adopts the mux's and starts no hold.
func (p *pass) recognize(before *established) {
	known, is := before.ledger.MuxUID, p.w.Mux.UID
	latest := p.now.Add(RecreatedHold)
	p.holdUntil = earlier(before.ledger.HeldUntil, latest) // the clock may have been ahead when it was written
	if known != "" && known != is {
		p.holdUntil = latest
	}
	if !p.holdUntil.After(p.now) {
		p.holdUntil = time.Time{}
	}
	if known != is && before.mend == "" && len(p.claims) > 0 {
		before.mend = textOtherMux(known != "")
	}
}

// reservedUntil returns until when a released number is reserved for its owner: for the mux's grace, and if the owner is
// missing, until the hold of a recreated mux ends. It is zero if the number is free at once.
func (p *pass) reservedUntil(claim *Claim) time.Time {
	var until time.Time
	if p.w.Mux.Grace > 0 {
		until = p.now.Add(p.w.Mux.Grace)
	}
	if owner := p.byKey[claim.Owner.Channel]; owner == nil || owner.Deleting {
		until = later(until, p.holdUntil)
	}
	return until
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func textOtherMux(recreated bool) string {
	if recreated {
		return "the mux was deleted and created again: the ledger names its new UID"
	}
	return "the ledger names the mux's UID"
}
