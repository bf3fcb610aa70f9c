package plan

import (
	"slices"
)

// endGraces ends the graces that are over. It shortens a grace that ends later than the mux's setting allows: the
// setting was lowered, or the clock was wrong.
func (k *keeping) endGraces() {
	latest := later(k.now.Add(k.w.Mux.Grace), k.holdUntil)
	var over, reserved []*Claim
	for _, claim := range k.claims {
		if claim.State != InGrace {
			continue
		}
		if claim.Until.After(latest) {
			claim.Until = latest
		}
		if claim.Until.After(k.now) {
			reserved = append(reserved, claim)
		} else {
			over = append(over, claim)
		}
	}
	k.forget(append(over, k.tooMany(reserved)...)...)
	for _, claim := range k.claims {
		if claim.State == InGrace {
			k.lookAgain(claim.Until)
		}
	}
}

// tooMany returns the graces that a mux has no room for: of each namespace, those that end first. Graces don't count
// against a cap. Without a bound, a channel that asks for one number after the other would reserve them all, and the
// ledger would outgrow its ConfigMap. Each namespace has the same share.
func (p *pass) tooMany(reserved []*Claim) []*Claim {
	most := p.w.Mux.Cap.Ports
	share := most
	if quota := p.w.Mux.CapPerNamespace; quota > 0 {
		share = min(share, quota)
	}
	total := 0
	for _, claim := range reserved {
		total += claim.Span().size()
	}
	if total <= share {
		return nil
	}
	slices.SortFunc(reserved, func(a, b *Claim) int {
		if order := b.Until.Compare(a.Until); order != 0 {
			return order
		}
		return byNumber(a, b)
	})
	namespaces := map[string]bool{}
	for _, claim := range reserved {
		namespaces[claim.Owner.Channel.Namespace] = true
	}
	if total > most {
		share = max(min(share, most/len(namespaces)), 1)
	}
	of := map[string]int{}
	return slices.DeleteFunc(reserved, func(claim *Claim) bool {
		of[claim.Owner.Channel.Namespace] += claim.Span().size()
		return of[claim.Owner.Channel.Namespace] <= share
	})
}
