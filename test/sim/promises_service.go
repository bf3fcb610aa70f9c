package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// service checks our write of a Service.
func (p *promises) service(c *api.Change, process *process) string {
	before, after := c.Before.(*corev1.Service), c.After
	if after == nil {
		if before.DeletionTimestamp == nil {
			return fmt.Sprintf("not ours, not touched: Service %s is deleted", c.Key)
		}
		return ""
	}
	now := after.(*corev1.Service)
	if broken := p.foreign(before, now); broken != "" {
		return "not ours, not touched: " + c.Key.String() + ": " + broken
	}
	if p.sim.isMux(before) &&
		(!equality.Semantic.DeepEqual(before.Spec, now.Spec) || !maps.Equal(before.Annotations, now.Annotations)) {
		if why := p.frozen(before, process); why != "" {
			return fmt.Sprintf("freeze: mux %s is written, though %s", c.Key, why)
		}
	}
	if !equality.Semantic.DeepEqual(before.Spec, now.Spec) {
		if !p.sim.language.Classify(before).Mux() {
			return fmt.Sprintf("not ours, not touched: the spec of %s is written", c.Key)
		}
		return p.published(c.Key, before, now, process)
	}
	return p.shown(c.Key, before, now, process)
}

// foreign returns a change of a field that isn't ours on any Service, or an empty string.
func (p *promises) foreign(before, now *corev1.Service) string {
	keys := p.sim.language.Keys()
	ours := []string{keys.Ports, keys.Generation, keys.Ledger, keys.Channels, keys.Topology, keys.Summary,
		keys.AggregatedExternalDNS, validation.FormerHostname, validation.FormerCloudflareProxied,
		validation.ExternalDNSHostname, validation.CloudflareProxied}
	rest := func(annotations map[string]string) map[string]string {
		annotations = maps.Clone(annotations)
		maps.DeleteFunc(annotations, func(key, _ string) bool { return slices.Contains(ours, key) })
		return annotations
	}
	spec := func(svc *corev1.Service) corev1.ServiceSpec {
		spec := *svc.Spec.DeepCopy()
		spec.Ports = nil // published checks the ports
		return spec
	}
	switch {
	case !equality.Semantic.DeepEqual(spec(before), spec(now)):
		return "its spec, beyond its ports"
	case !equality.Semantic.DeepEqual(rest(before.Annotations), rest(now.Annotations)):
		return "an annotation"
	case !equality.Semantic.DeepEqual(before.Labels, now.Labels),
		!equality.Semantic.DeepEqual(before.Finalizers, now.Finalizers):
		return "labels or finalizers"
	}
	return ""
}

// published checks a write of a mux's ports: new ports have claims, removed ports' channels show no address, and
// foreign ports are unchanged.
func (p *promises) published(mux types.NamespacedName, before, now *corev1.Service, process *process) string {
	had, has := slotsOf(before), slotsOf(now)
	claims, generation, sure := p.claims(mux)
	// If others replaced the ledger after this process last wrote it, the process may have decided by the former
	// ledger. Then nothing is promised about the new one.
	late := process != nil && p.kept[visit{process.name, mux}] < p.lost[mux]
	sure = sure && !late
	claimed := map[plan.Slot][]string{} // while a ledger moves, there are two
	// channels whose numbers may have gone to another of their ports after this was decided
	inChannel := map[plan.Slot]types.NamespacedName{}
	for _, claim := range claims {
		claimed[claim.Slot()] = append(claimed[claim.Slot()], claim.MuxName)
		if p.stamp(mux) < generation {
			inChannel[claim.Slot()] = claim.Owner.Channel
		}
	}
	for slot, name := range has {
		old := had[slot]
		owner, known := p.owners[called{mux, name}]
		if old != name && (p.doubted[mux] || late) { // decided by the former ledger, before others replaced it
			p.drifted[place{mux, slot, name}] = true
		}
		switch {
		case old == name || name == "placeholder":
		case !known:
			return fmt.Sprintf("claims: %s comes as %s, which is nobody's", slot, name)
		case sure && !slices.Contains(claimed[slot], name) && inChannel[slot] != owner:
			return fmt.Sprintf("claims: %s comes as %s, of %s, and isn't claimed: %s", slot, name, owner, claimsText(claims))
		case old != "" && !late && p.owners[called{mux, old}] != owner &&
			p.owners[called{mux, old}] != (types.NamespacedName{}) && !p.drifted[place{mux, slot, old}]:
			return fmt.Sprintf("one owner: %s goes from %s to %s in one patch", slot, p.owners[called{mux, old}], owner)
		}
	}
	// Another process still wrote into the former ledger while this one moved it: those claims aren't in force.
	isMoved := p.home[mux] != "" && plan.ReadMux(p.sim.language, now, false).LedgerInForce != p.home[mux]
	for _, slot := range slices.SortedFunc(maps.Keys(had),
		func(a, b plan.Slot) int { return compare(a.String(), b.String()) }) {
		claim, held := p.held[mux][slot]
		if isMoved && p.told[place{mux, slot, claim.MuxName}] != claim.Owner {
			continue
		}
		// If others replaced the ledger, it may have another name for the channel's port.
		renamed := p.rebuilt[mux] && p.owners[called{mux, has[slot]}] == claim.Owner.Channel
		undone := process != nil && p.isOvertaken(mux, process) && !p.knewOf(&claim, mux, process)
		if held && !late && !undone && claim.MuxName == had[slot] && has[slot] != had[slot] && !renamed &&
			!p.drifted[place{mux, slot, had[slot]}] {
			return fmt.Sprintf("it stays: %s leaves the mux, and %s asks for it still", slot, claim.Owner.Channel)
		}
	}
	if stamp := p.stamp(mux); sure && stamp > generation {
		return fmt.Sprintf("claims: the mux has generation %d, and its ledger %d", stamp, generation)
	}
	return p.gone(mux, had, has, func(slot plan.Slot) bool { return !sure || claimed[slot] != nil }, process)
}

// isOvertaken returns whether another process has written the ledger since this one did.
func (p *promises) isOvertaken(mux types.NamespacedName, process *process) bool {
	for at, version := range p.kept {
		if at.mux == mux && at.process != process.name && version > p.kept[visit{process.name, mux}] {
			return true
		}
	}
	return false
}

func (p *promises) gone(mux types.NamespacedName, had, has map[plan.Slot]string, claimed func(plan.Slot) bool,
	process *process) string {
	left := map[types.NamespacedName]bool{}
	for slot, name := range had {
		owner, ours := p.owners[called{mux, name}]
		_, still := has[slot]
		switch {
		case !ours && name != "placeholder" && has[slot] != name && !claimed(slot):
			return fmt.Sprintf("not ours, not touched: port %s (%s) of %s goes", name, slot, mux)
		case ours && !still && !p.drifted[place{mux, slot, name}]:
			// where others moved a port, no channel's address leads to it
			left[owner] = true
		}
	}
	for _, name := range has {
		delete(left, p.owners[called{mux, name}])
	}
	for _, channel := range sortedKeys(left) {
		if broken := p.hidden(mux, channel, process); broken != "" {
			return broken
		}
	}
	return ""
}

// hidden checks that a channel shows no address when its last port is removed, as far as the process knows.
func (p *promises) hidden(mux, channel types.NamespacedName, process *process) string {
	svc := p.sim.world.service(channel)
	if svc == nil || process == nil || len(svc.Status.LoadBalancer.Ingress) == 0 ||
		!p.sim.language.Classify(svc).Channel() {
		return ""
	}
	named, _ := p.sim.language.ParseClass(*svc.Spec.LoadBalancerClass)
	known := process.saw(mux, channel)
	if named != mux || known == nil || known.UID != svc.UID || len(known.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	return fmt.Sprintf("addresses: the last port of %s goes, and it shows %s still", channel,
		svc.Status.LoadBalancer.Ingress[0].IP)
}

// shown checks a written address: it must be the mux's, and the channel's ports must be on the mux.
func (p *promises) shown(key types.NamespacedName, before, now *corev1.Service, process *process) string {
	for _, condition := range before.Status.Conditions {
		same := slices.ContainsFunc(now.Status.Conditions, func(c metav1.Condition) bool {
			return equality.Semantic.DeepEqual(c, condition)
		})
		if !strings.HasPrefix(condition.Type, p.sim.language.Prefix()+"/") && !same {
			return fmt.Sprintf("not ours, not touched: condition %s of %s", condition.Type, key)
		}
	}
	if len(now.Status.LoadBalancer.Ingress) == 0 ||
		equality.Semantic.DeepEqual(before.Status.LoadBalancer, now.Status.LoadBalancer) {
		return ""
	}
	for _, ingress := range now.Status.LoadBalancer.Ingress {
		if !p.addresses[ingress.IP+ingress.Hostname] {
			return fmt.Sprintf("addresses: %s shows %s%s, which no mux ever had", key, ingress.IP, ingress.Hostname)
		}
		if ingress.IP != "" && (ingress.IPMode == nil || *ingress.IPMode != corev1.LoadBalancerIPModeProxy) {
			return fmt.Sprintf("addresses: %s shows %s in another mode than Proxy", key, ingress.IP)
		}
	}
	if process != nil && !process.met(key, now.UID) {
		return fmt.Sprintf("addresses: %s was made anew, and is told what was decided about the one before", key)
	}
	return p.behind(key, now, process)
}

// behind checks that, as far as the process knows, the channel has ports on a mux. While the ledger is unusable, the
// channel's own annotation counts, and its address follows the mux's.
func (p *promises) behind(key types.NamespacedName, now *corev1.Service, process *process) string {
	if process == nil || !p.sim.language.Classify(now).Channel() {
		return ""
	}
	for _, mux := range p.sim.muxes() { // the channel may have changed its mux meanwhile
		if p.doubted[mux] {
			return ""
		}
		known := process.knows(mux)
		began := process.began[mux][mux]
		wrote, _ := process.wrote[string(api.Services)+" "+mux.String()].(*corev1.Service)
		for _, svc := range [...]*corev1.Service{known, began, wrote, process.learnt[mux]} {
			for _, name := range slotsOf(svc) {
				if p.owners[called{mux, name}] == key || p.holds(mux, key, name) {
					return ""
				}
			}
		}
	}
	return fmt.Sprintf("addresses: %s shows an address, and none of its ports is on a mux", key)
}

// holds returns whether the ledger gives a port to a channel although the port has another channel's name. After a loss
// of the ledger, only the channel's annotation showed who owns the port: the channel after which the port is named had
// left.
func (p *promises) holds(mux, channel types.NamespacedName, name string) bool {
	claims, _, _ := p.claims(mux)
	return p.rebuilt[mux] && slices.ContainsFunc(claims, func(c plan.Claim) bool {
		return c.Owner.Channel == channel && c.State == plan.Held && c.MuxName == name
	})
}
