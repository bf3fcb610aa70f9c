package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// movedMeanwhile returns whether another process moved the ledger away from a ConfigMap since this process read the
// mux. A mux that named no ledger then counts, too: it hadn't its first ledger yet.
func (p *promises) movedMeanwhile(mux, from types.NamespacedName, process *process) bool {
	if process == nil {
		return false
	}
	known, now := process.decidedFrom(mux), p.inForce(mux, nil)
	if known == nil || now == nil || now.Name == from.Name {
		return false
	}
	was := plan.ReadMux(p.sim.language, known, false).LedgerInForce
	return was == "" || was == from.Name
}

// continues returns whether the next ledger is newer than the ledger in force, and has all held claims of that ledger.
func continues(next, inForce *plan.Ledger) bool {
	owners := map[plan.Slot]plan.PortID{}
	for i := range next.Claims {
		owners[next.Claims[i].Slot()] = next.Claims[i].Owner
	}
	return next.Generation > inForce.Generation && !slices.ContainsFunc(inForce.Claims, func(c plan.Claim) bool {
		return c.State == plan.Held && owners[c.Slot()] != c.Owner
	})
}

// believed returns the valid part of a ledger. Of an edited ledger, only the claims that the mux's ports confirm are
// valid.
func (p *promises) believed(cm *corev1.ConfigMap, mux types.NamespacedName, read plan.Ledger) plan.Ledger {
	if p.edited(cm) {
		live := slotsOf(p.sim.world.service(mux))
		read.Claims = slices.DeleteFunc(read.Claims, func(claim plan.Claim) bool {
			return live[claim.Slot()] != claim.MuxName
		})
	}
	return read
}

// edited returns whether a ledger was edited by hand.
func (p *promises) edited(cm *corev1.ConfigMap) bool {
	mux, _ := p.sim.world.owned(cm)
	return record.Decode(cm, mux, p.sim.language.Keys()).Condition == plan.Edited
}

// named returns the ledger in the ConfigMap that a mux names. It returns false if that is the given ConfigMap, if it
// can't be read, or if it isn't the mux's.
func (p *promises) named(mux, but types.NamespacedName, process *process) (plan.Ledger, bool) {
	cm := p.inForce(mux, process)
	if cm == nil || client.ObjectKeyFromObject(cm) == but {
		return plan.Ledger{}, false
	}
	read, of, good := p.reading(cm)
	return p.believed(cm, mux, read), good && of == mux
}

// asWritten returns the ledger in the ConfigMap that a mux names, with everything that people wrote into it. If a claim
// in it is missing from the ledger's next place, a process goes on with this ledger.
func (p *promises) asWritten(mux types.NamespacedName, process *process) *plan.Ledger {
	read, _, _ := p.reading(p.inForce(mux, process))
	return &read
}

// inForce returns the ConfigMap that a mux names as its ledger; nil if it doesn't exist. If others removed the name
// from the mux, it returns the ConfigMap that the mux named when the process last saw the mux.
func (p *promises) inForce(mux types.NamespacedName, process *process) *corev1.ConfigMap {
	svc := p.sim.world.service(mux)
	if svc == nil {
		return nil
	}
	name := plan.ReadMux(p.sim.language, svc, false).LedgerInForce
	if name == "" && process != nil {
		if seen := process.decidedFrom(mux); seen != nil {
			name = plan.ReadMux(p.sim.language, seen, false).LedgerInForce
		}
	}
	cm, _ := p.sim.server.Peek(api.ConfigMaps,
		types.NamespacedName{Namespace: mux.Namespace, Name: name}).(*corev1.ConfigMap)
	return cm
}

// namesAnother returns whether a mux names another ConfigMap than this as its ledger, even if the other ConfigMap is
// gone by now.
func (p *promises) namesAnother(mux, than types.NamespacedName) bool {
	svc := p.sim.world.service(mux)
	if svc == nil {
		return false
	}
	name := plan.ReadMux(p.sim.language, svc, false).LedgerInForce
	return name != "" && name != than.Name
}
