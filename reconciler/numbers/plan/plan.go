package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Mux decides about one mux: what to write, and what each channel is told.
func Mux(w World, m Memory) *Plan { return decide(&w, &m).finish() }

// decide is a pass. Its steps are in the order in which they run.
func decide(w *World, m *Memory) *pass {
	p := newPass(w, m)
	decided := p.decidePorts()
	if decided {
		decideWrites(p)
	}
	tell(p)
	if decided {
		confirm(p)
	}
	return p
}

// decidePorts decides which channel has which port. It returns false if ports, ledger and the mux's annotations stay as
// they are.
func (p *pass) decidePorts() bool {
	if !p.canGivePorts() {
		orphan(p)
		return false
	}
	readClaims(p)
	readPorts(p)
	warnOfLimits(p)
	if why := frozenBy(p); why != nil {
		freeze(p, why)
		return false
	}
	edits := keep(p)
	newcomers := admit(p)
	retryRefused(p, edits, newcomers)
	gatherNames(p)
	return true
}

// canGivePorts is false for a mux that isn't there, is being deleted, or isn't a load balancer. It warns of the last
// case.
func (p *pass) canGivePorts() bool {
	mux := p.w.Mux
	if mux == nil || mux.Deleting {
		return false
	}
	at := slices.IndexFunc(mux.Problems, func(found validation.Problem) bool {
		return found.Reason == validation.NotLoadBalancer
	})
	if at >= 0 {
		p.warn(validation.NotLoadBalancer, mux.Problems[at].Message)
	}
	return at < 0
}

// orphan refuses every channel of a mux that can't give ports. The ledger is kept: a mux that is created again gives
// the same ports.
func orphan(p *pass) {
	message := cmp.Or(p.w.Absent, textMuxNotFound(p.w.Key, p.w.Keys.Multiplexer))
	if p.w.Mux != nil && p.w.Mux.Deleting {
		message = textMuxDeleting(p.w.Key)
	}
	for _, c := range p.channels {
		if len(c.Problems) > 0 {
			c.refuse(problemsOf(c.Problems))
		} else {
			c.refuse(&refusal{reason: MuxNotFound, message: message})
		}
	}
}

// finish sorts the lists that no step has sorted, and says when the next pass is due.
func (p *pass) finish() *Plan {
	slices.SortFunc(p.plan.Confirm, CompareKeys)
	p.plan.Confirm = slices.Compact(p.plan.Confirm)
	slices.SortFunc(p.plan.Standing, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	p.plan.Again = p.again
	return p.plan
}

// confirm asks for a live read of each channel that would lose a number, or a port on the mux. The cache may be behind:
// the channel may still want the number, which could then go to another channel.
func confirm(p *pass) {
	confirmMux(p)
	if p.plan.Reserve == nil && p.plan.Publish == nil && p.plan.Settle == nil {
		return
	}
	ask := func(channel types.NamespacedName) {
		if p.byKey[channel] != nil && !p.w.Confirmed[channel] {
			p.plan.Confirm = append(p.plan.Confirm, channel)
		}
	}
	for i := range p.before.ledger.Claims {
		claim := &p.before.ledger.Claims[i]
		now := p.holders.at(claim.Slot())
		stays := now != nil && now.held() && now.Owner == claim.Owner && now.Slot() == claim.Slot()
		if claim.held() && !stays {
			ask(claim.Owner.Channel)
		}
	}
	// the number stays, and the port goes: of a disabled channel, or after a rebuild of the ledger
	for _, claim := range p.claims {
		if claim.State != InGrace && p.onMux.has(claim) && !p.belongsOnMux(claim) {
			ask(claim.Owner.Channel)
		}
	}
}

// confirmMux asks for a live read of the mux before these writes, because the cache may lack ports that another process
// published:
//
//	claims that were rebuilt from the mux's ports
//	a mux's first ledger, or its ledger in another ConfigMap
//	the first ledger that this process writes for the mux
//	any ledger while the API server refuses ports: their claims must not be released as never used
func confirmMux(p *pass) {
	writes := p.plan.Reserve != nil &&
		(p.w.Ledger.Condition == Missing || p.w.Ledger.Moved || p.w.Unmet || len(p.m.Refused) > 0)
	if (writes || p.before.renew) && !p.w.Confirmed[p.w.Key] {
		p.plan.Confirm = append(p.plan.Confirm, p.w.Key)
	}
}

func problemsOf(found []validation.Problem) *refusal {
	messages := make([]string, 0, len(found))
	for i := range found {
		messages = append(messages, found[i].Message)
	}
	return &refusal{reason: found[0].Reason, message: someOf(messages)}
}
