package plan

import "slices"

// takeBack undoes edits that the API server refused. Each claim to a refused number goes back to the number that its
// port has on the mux. A claim that never was on the mux is released.
func (r *reader) takeBack() {
	for _, c := range r.channels {
		refused := r.m.Refused[c.Key].Slots
		if len(refused) == 0 {
			continue
		}
		for _, claim := range slices.Clone(c.claims) {
			if !claim.held() || r.onMux.has(claim) || r.wasShown(claim) || !slices.Contains(refused, claim.Slot()) {
				continue
			}
			there, isLive := r.onMux.spanNamed(claim.MuxName)
			if isLive && there.Protocol == claim.Owner.Protocol && r.isOwn(c, there) {
				r.goBack(claim, there)
				continue
			}
			r.release(claim)
			r.neverPublished[claim.Slot()] = true
		}
	}
}

// isOwn is true if no other channel has a claim to any of the numbers.
func (r *reader) isOwn(c *channel, numbers Span) bool {
	for slot := range numbers.slots() {
		if holder := r.holders.at(slot); holder != nil && holder.Owner.Channel != c.Key {
			return false
		}
	}
	return true
}

// goBack moves a claim to the numbers that its port has on the mux. Its other numbers become claims that are released,
// because another process may have read them in the ledger, and may publish them.
func (r *reader) goBack(claim *Claim, to Span) {
	rest := *claim
	r.forget(claim)
	for slot := range to.slots() {
		if holder := r.holders.at(slot); holder != nil {
			r.forget(holder)
			r.releaseRest(holder, to)
		}
	}
	claim.Public, claim.Last = to.First, to.end()
	r.add(claim)
	r.releaseRest(&rest, to)
	r.names[rest.MuxName] = claim
	for _, part := range rest.Span().without(to) {
		r.neverPublished[part.slot()] = true
	}
}
