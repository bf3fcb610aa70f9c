package sim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// frozen returns why a mux may not be written, or an empty string. The reason is that its owner paused it, that its
// settings have a fault, or that its ledger is unusable as the process last read it. Without a process, the ledger
// isn't checked.
func (p *promises) frozen(svc *corev1.Service, process *process) string {
	mux := plan.ReadMux(p.sim.language, svc, false)
	switch {
	case len(mux.Problems) > 0:
		return mux.Problems[0].Message
	case mux.Disabled:
		return "it is paused"
	case process == nil:
		return ""
	}
	cm := process.read[types.NamespacedName{Namespace: mux.Key.Namespace, Name: mux.LedgerInForce}]
	if cm == nil || cm.Annotations[p.sim.language.Keys().Mux] != mux.Key.String() {
		cm = process.read[types.NamespacedName{Namespace: mux.Key.Namespace, Name: mux.Ledger}]
	}
	if cm == nil {
		return "" // the ledger may be in another ConfigMap, or missing
	}
	reading := record.Decode(cm, mux.Key, p.sim.language.Keys())
	switch {
	case reading.Condition > plan.Missing:
		return fmt.Sprintf("its ledger %s can't be gone by: %s", cm.Name, reading.Why)
	case reading.Condition != plan.Missing && reading.Ledger.Generation < mux.Generation:
		return fmt.Sprintf("its ledger %s is of generation %d, and it is at %d", cm.Name, reading.Ledger.Generation,
			mux.Generation)
	}
	return ""
}

// onFrozen returns the broken promise if a process writes the ledger of a mux that was paused or had a fault when the
// process decided.
func (p *promises) onFrozen(c *api.Change, mux types.NamespacedName, process *process) string {
	if process == nil {
		return ""
	}
	known := process.decidedFrom(mux)
	if known == nil || !p.sim.isMux(known) {
		return ""
	}
	if why := p.frozen(known, nil); why != "" {
		return fmt.Sprintf("freeze: ledger %s is written, though of the mux it was known: %s", c.Key, why)
	}
	return ""
}

// newcomers checks that newcomers get all their ports or none, and respect the mux's bounds. A channel isn't new if an
// edited ledger names it, if the written ConfigMap named it before, or if the mux has one of its ports.
func (p *promises) newcomers(c *api.Change, mux types.NamespacedName, before, now *plan.Ledger,
	process *process) string {
	if process == nil {
		return ""
	}
	was, has, ofNamespace := map[types.NamespacedName]bool{}, map[types.NamespacedName]int{}, map[string]int{}
	claims := slices.Clone(before.Claims)
	written, _ := c.Before.(*corev1.ConfigMap)
	for _, cm := range [...]*corev1.ConfigMap{written, p.inForce(mux, process)} { // two, while the ledger moves
		if cm != nil && (cm == written || p.edited(cm)) {
			known, _, _ := p.reading(cm)
			claims = append(claims, known.Claims...)
		}
	}
	for i := range claims {
		was[claims[i].Owner.Channel] = true
	}
	// the process's state may be reverted by now
	for _, service := range [...]*corev1.Service{p.sim.world.service(mux), process.decidedFrom(mux)} {
		for _, name := range slotsOf(service) { // if the ledger was edited or lost, the mux has ports that the ledger lacks
			was[p.owners[called{mux, name}]] = true
		}
	}
	for i := range now.Claims {
		if now.Claims[i].State == plan.Held {
			has[now.Claims[i].Owner.Channel]++
			ofNamespace[now.Claims[i].Owner.Channel.Namespace]++
		}
	}
	for _, key := range sortedKeys(has) {
		seen := process.began[mux][key]
		if broken := p.newListener(now, mux, key, was, ofNamespace, process); broken != "" {
			return broken
		}
		if was[key] || seen == nil {
			continue
		}
		channel := plan.ReadChannel(p.sim.language, seen)
		// read live, or from the cache during the pass
		for _, later := range [...]*corev1.Service{process.learnt[key], process.knows(key)} {
			if later != nil && versionOf(later) > versionOf(seen) && has[key] != len(channel.Ports) {
				channel = plan.ReadChannel(p.sim.language, later)
			}
		}
		if channel.Mux != mux {
			continue
		}
		if has[key] != len(channel.Ports) {
			return fmt.Sprintf("all or nothing: %s gets %d of %d ports", key, has[key], len(channel.Ports))
		}
		if known := process.decidedFrom(mux); known != nil && p.sim.isMux(known) {
			if broken := beyond(plan.ReadMux(p.sim.language, known, false), now, key, ofNamespace); broken != "" {
				return "bounds: " + broken
			}
		}
	}
	return ""
}

// newListener checks that a listener that comes to the mux respects the mux's bounds. It ignores Services. A listener
// has one port, so it can't get a part of its ports.
func (p *promises) newListener(now *plan.Ledger, mux, key types.NamespacedName, was map[types.NamespacedName]bool,
	ofNamespace map[string]int, process *process) string {
	known := process.decidedFrom(mux)
	if claimants.IsService(key) || was[key] || process.served.saw(mux, key) == nil || known == nil || !p.sim.isMux(known) {
		return ""
	}
	if broken := beyond(plan.ReadMux(p.sim.language, known, false), now, key, ofNamespace); broken != "" {
		return "bounds: " + broken
	}
	return ""
}

// beyond returns which of a mux's bounds a newcomer exceeds, or an empty string.
func beyond(bounds *plan.ObservedMux, now *plan.Ledger, key types.NamespacedName, ofNamespace map[string]int) string {
	all := 0
	for _, n := range ofNamespace {
		all += n
	}
	switch quota := bounds.CapPerNamespace; {
	case quota > 0 && ofNamespace[key.Namespace] > quota:
		return fmt.Sprintf("%s comes, and its namespace has %d ports where it may have %d", key, ofNamespace[key.Namespace],
			quota)
	case all > bounds.Cap.Ports:
		return fmt.Sprintf("%s comes, and the mux has %d ports where it may have %d", key, all, bounds.Cap.Ports)
	case claimants.IsService(key) && !bounds.Namespaces.Allows(key.Namespace):
		return fmt.Sprintf("%s comes, and its namespace isn't allowed", key)
	}
	for i := range now.Claims {
		claim := &now.Claims[i]
		if claim.State != plan.Held || claim.Owner.Channel != key {
			continue
		}
		allowed := bounds.Explicit
		if claim.Source == plan.Auto {
			allowed = bounds.Auto
		}
		switch {
		case !bounds.Protocols.Allowed.Has(claim.Owner.Protocol):
			return fmt.Sprintf("%s comes with a port over %s, which the mux doesn't allow", key, claim.Owner.Protocol)
		case !allowed.Contains(claim.Public):
			return fmt.Sprintf("%s comes with %s (%s), which the mux doesn't allow", key, claim.Slot(), claim.Source)
		}
	}
	return ""
}
