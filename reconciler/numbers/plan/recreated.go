package plan

import "time"

// RecreatedHold is how long the numbers of missing channels are held after their mux was deleted and created again. A
// sync of a whole application creates the mux first, and its channels seconds to minutes later.
const RecreatedHold = 5 * time.Minute

// detectRecreated compares the mux's UID with the one in the ledger. Another UID means that the mux was deleted and
// created again, which starts the hold. The ledger records when the hold ends, so that it survives a restart. A ledger
// without a UID adopts the mux's UID and starts no hold.
func (r *reader) detectRecreated() {
	known, is := r.before.ledger.MuxUID, r.w.Mux.UID
	r.holdUntil = r.before.ledger.HeldUntil
	if known != "" && known != is {
		r.holdUntil = r.now.Add(RecreatedHold)
	}
	if !r.holdUntil.After(r.now) {
		r.holdUntil = time.Time{}
	}
	if known != is && r.before.mend == "" && len(r.claims) > 0 {
		r.before.mend = textOtherMux(known != "")
	}
}

// reservedUntil returns until when a released number is reserved for its owner: until the mux's grace ends, and if the
// owner is missing, until the hold of a recreated mux ends. It returns zero if the number is free at once.
func (p *pass) reservedUntil(claim *Claim) time.Time {
	var until time.Time
	if p.neverPublished[claim.Slot()] {
		return until
	}
	if p.w.Mux.Grace > 0 {
		until = p.now.Add(p.w.Mux.Grace)
	}
	if owner := p.byKey[claim.Owner.Channel]; owner == nil || owner.Deleting {
		until = later(until, p.holdUntil)
	}
	return until
}

func textOtherMux(recreated bool) string {
	if recreated {
		return "the mux was deleted and created again: the ledger names its new UID"
	}
	return "the ledger names the mux's UID"
}
