package changes

import (
	"time"

	"nowake.ai/svc-lb-mux/cmd/svcmux/dryrun"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// grant is what a port gets when a grace ends.
type grant struct {
	numbers plan.Span
	source  plan.Source
	at      time.Time
}

// last is the last number of a range; 0 for a single number.
func (g *grant) last() int32 {
	if g.numbers.Last > g.numbers.First {
		return g.numbers.Last
	}
	return 0
}

// maxGraces bounds the graces for which grantsOf waits.
const maxGraces = 32

// grantsOf moves the clock of a copy from the end of one grace to the next, as long as channels are refused. It returns
// the first new number of each port. An incumbent whose edit is refused keeps its old number until then.
func grantsOf(cluster *dryrun.Cluster, now dryrun.Outcome) (map[plan.PortID]grant, error) {
	grants := map[plan.PortID]grant{}
	held := map[plan.PortID]plan.Span{}
	eachPort(now.Plan, func(id plan.PortID, port plan.PortVerdict) { held[id] = port.Span() })
	for range maxGraces {
		next := nextGrace(now)
		if next.IsZero() || !anyRefused(now.Plan) {
			break
		}
		cluster = dryrun.Copy(cluster.World, next)
		var err error
		if now, err = cluster.Reconcile(now.World.Key); err != nil {
			return nil, err
		}
		eachPort(now.Plan, func(id plan.PortID, port plan.PortVerdict) {
			if _, known := grants[id]; !known && port.Public != 0 && port.Span() != held[id] {
				grants[id] = grant{port.Span(), port.Source, next}
			}
		})
	}
	return grants, nil
}

func eachPort(p *plan.Plan, take func(plan.PortID, plan.PortVerdict)) {
	for i := range p.Verdicts {
		for _, port := range p.Verdicts[i].Ports {
			take(plan.PortID{Channel: p.Verdicts[i].Channel, Name: port.Name, Protocol: port.Protocol}, port)
		}
	}
}

// nextGrace returns when the next grace ends; zero if no number is in grace.
func nextGrace(now dryrun.Outcome) time.Time {
	var next time.Time
	for _, claim := range now.World.Ledger.Ledger.Claims {
		if claim.State == plan.InGrace && claim.Until.After(now.World.Now) && (next.IsZero() || claim.Until.Before(next)) {
			next = claim.Until
		}
	}
	return next
}

func anyRefused(p *plan.Plan) bool {
	for i := range p.Verdicts {
		if !p.Verdicts[i].Accepted {
			return true
		}
	}
	return false
}
