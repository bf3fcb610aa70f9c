package plan

import (
	"cmp"
	"slices"
	"sort"
)

// graces ends those that are over. One that ends later than the mux's grace allows from now, because the grace was
// shortened or the clock was wrong, is shortened.
func (p *pass) graces() {
	latest := later(p.now.Add(p.w.Mux.Grace), p.holdUntil)
	var over, held []*Claim
	for _, claim := range p.claims {
		if claim.State != InGrace {
			continue
		}
		if claim.Until.After(latest) {
			claim.Until = latest
		}
		if !claim.Until.After(p.now) {
			over = append(over, claim)
			continue
		}
		held = append(held, claim)
	}
	p.forget(append(over, p.tooMany(held)...)...)
	for _, claim := range p.claims {
		if claim.State == InGrace {
			p.lookAgain(claim.Until)
		}
	}
}

// tooMany are the graces that are more than the mux, or their namespace, may have ports: those that end first. They count against no
// cap, so without an end to them a channel that asks for one number after the other would hold them all, and the ledger would
// outgrow its ConfigMap. Where there is no room for all, those go first whose namespace has most: nobody pushes others' out.
func (p *pass) tooMany(held []*Claim) []*Claim {
	most := p.w.Mux.Cap.Ports
	share := most
	if quota := p.w.Mux.CapPerNamespace; quota > 0 {
		share = min(share, quota)
	}
	if len(held) <= share {
		return nil
	}
	slices.SortFunc(held, func(a, b *Claim) int { return cmp.Or(b.Until.Compare(a.Until), byNumber(a, b)) })
	of := map[string]int{}
	for _, claim := range held {
		of[claim.Owner.Channel.Namespace]++
	}
	fair := sort.Search(share, func(n int) bool { return capped(of, n+1) > most }) // for which there is room for all
	room := most - capped(of, fair)
	clear(of)
	return slices.DeleteFunc(held, func(claim *Claim) bool {
		namespace := claim.Owner.Channel.Namespace
		of[namespace]++
		switch {
		case of[namespace] <= fair:
			return true
		case of[namespace] == fair+1 && fair < share && room > 0:
			room--
			return true
		}
		return false
	})
}

// capped is how many there are if none counts for more than n.
func capped(of map[string]int, n int) int {
	sum := 0
	for _, count := range of {
		sum += min(count, n)
	}
	return sum
}
