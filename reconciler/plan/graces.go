package plan

import (
	"cmp"
	"slices"
)

// graces ends those that are over. One that ends later than the mux's grace allows from now, because the grace was
// shortened or the clock was wrong, is shortened.
func (p *pass) graces() {
	latest := p.now.Add(p.w.Mux.Grace)
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

// tooMany are the graces that end first, of those that are more than the mux, or their namespace, may have ports. They count
// against no cap, so without an end to them a channel that asks for one number after the other would hold them all, and
// the ledger would outgrow its ConfigMap.
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
	var tooMany []*Claim
	kept, of := 0, map[string]int{}
	for _, claim := range held {
		namespace := claim.Owner.Channel.Namespace
		if kept == most || of[namespace] == share {
			tooMany = append(tooMany, claim)
			continue
		}
		kept++
		of[namespace]++
	}
	return tooMany
}
