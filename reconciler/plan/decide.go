package plan

import (
	"cmp"
	"slices"

	"nowake.ai/svc-lb-mux/validation"
)

// Mux decides about one mux.
func Mux(w World) *Plan { return decide(&w).finish() }

func decide(w *World) *pass {
	p, before := judge(w)
	if before != nil {
		p.write(before)
		p.placeholderLater()
		p.contest()
		p.tellChanged()
		p.tellEdges(p.showAll())
	}
	return p
}

// judge decides who gets what. What was established before is returned if anything may be written because of it.
func judge(w *World) (*pass, *established) {
	p := begin(w)
	if w.Mux == nil || w.Mux.Deleting || p.otherType() {
		p.orphan()
		return p, nil
	}
	before := p.ledger()
	p.register()
	if freeze := p.standing(&before); freeze != nil {
		p.freeze(freeze, &before)
		return p, nil
	}
	p.tellUnfrozen()
	p.incumbents()
	p.newcomers()
	p.keepPlaceholder()
	p.deferrals()
	p.gatherNames()
	return p, &before
}

// finish puts everything into its order.
func (p *pass) finish() *Plan {
	slices.SortFunc(p.plan.Confirm, CompareKeys)
	slices.SortFunc(p.plan.Standing, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	p.plan.Again = p.again
	return p.plan
}

// otherType is true for a Service with the annotation of a mux that has no load balancer to share.
func (p *pass) otherType() bool {
	i := slices.IndexFunc(p.w.Mux.Problems, func(found validation.Problem) bool {
		return found.Reason == validation.NotLoadBalancer
	})
	if i >= 0 {
		p.sayOfMux(validation.NotLoadBalancer, p.w.Mux.Problems[i].Message)
	}
	return i >= 0
}

// orphan is what becomes of the channels of a mux that isn't there. Its ledger is kept: a mux that comes back gives
// the same ports.
func (p *pass) orphan() {
	reason, message := MuxNotFound, textMuxNotFound(p.w.Key, p.w.Keys.Multiplexer)
	if p.w.Mux != nil && p.w.Mux.Deleting {
		message = textMuxDeleting(p.w.Key)
	}
	for _, c := range p.sorted {
		j := &c.judgement
		j.reason, j.message = reason, message
		if len(c.Problems) > 0 {
			j.reason, j.message = problems(c.Problems)
		}
	}
	p.showAll()
}
