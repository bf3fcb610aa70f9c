package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// mayEnd returns whether a process may give a number in grace to another channel: the grace is over, was changed, or
// has more time left than the mux gives now; the process doesn't know the mux's present grace; or more numbers are in
// grace than the caps allow.
func (p *promises) mayEnd(claim *plan.Claim, mux types.NamespacedName, before *plan.Ledger, process *process) bool {
	switch {
	case claim.State != plan.InGrace:
		return false
	case p.graces[mux] || process == nil || !p.knowsGrace(mux, process):
		return true
	}
	left := claim.Until.Sub(process.latest(mux))
	return left <= 0 || p.isShortened(mux, left) || p.tooManyGraces(mux, before, claim.Owner.Channel.Namespace)
}

// knowsGrace returns whether a process's cache has the mux's present grace. Of two leaders, one may have heard of a
// change before the other.
func (p *promises) knowsGrace(mux types.NamespacedName, process *process) bool {
	heard, now, grace := process.heard(mux), p.sim.world.service(mux), p.sim.language.Keys().ReleaseGrace
	return heard != nil && now != nil && heard.Annotations[grace] == now.Annotations[grace]
}

// isShortened returns whether a number has more grace left than the mux gives now.
func (p *promises) isShortened(mux types.NamespacedName, left time.Duration) bool {
	svc := p.sim.world.service(mux)
	if svc == nil {
		return true
	}
	parsed, _ := p.sim.language.ParseMux(svc)
	return left > parsed.Grace
}

// tooManyGraces returns whether more numbers are in grace than the caps allow.
func (p *promises) tooManyGraces(mux types.NamespacedName, before *plan.Ledger, namespace string) bool {
	all, own := 0, 0
	for i := range before.Claims {
		if claim := &before.Claims[i]; claim.State == plan.InGrace {
			all++
			if claim.Owner.Channel.Namespace == namespace {
				own++
			}
		}
	}
	svc := p.sim.world.service(mux)
	if svc == nil {
		return true
	}
	bounds := plan.ReadMux(p.sim.language, svc, false)
	return all > bounds.Cap.Ports || bounds.CapPerNamespace > 0 && own > bounds.CapPerNamespace
}
