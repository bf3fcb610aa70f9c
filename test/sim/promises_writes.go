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

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// ledger: a number has one owner, and another one only after none; who has ports keeps them.
func (p *promises) ledger(c *api.Change, process *process) string {
	after, _ := c.After.(*corev1.ConfigMap)
	if after == nil {
		return "" // it has moved
	}
	now, mux, good := p.reading(after)
	if !good {
		return fmt.Sprintf("claims: ledger %s can't be read as we wrote it", c.Key)
	}
	if broken := contradiction(&now); broken != "" {
		return "one owner: " + broken
	}
	for i := range now.Claims {
		p.owners[now.Claims[i].MuxName] = now.Claims[i].Owner.Channel
	}
	broken := p.given(c, mux, &now, process)
	if broken == "" {
		broken = p.stay(mux, &now, process)
	}
	p.held[mux] = map[plan.Slot]plan.Claim{}
	for _, claim := range now.Claims {
		svc := p.sim.world.service(claim.Owner.Channel)
		if claim.State == plan.Held && svc != nil && svc.DeletionTimestamp == nil && p.asksFor(svc, mux, &claim) {
			p.held[mux][claim.Slot()] = claim
		}
	}
	delete(p.doubted, mux)
	return broken
}

// contradiction is what a ledger can't say.
func contradiction(l *plan.Ledger) string {
	slots, owners, names := map[plan.Slot]bool{}, map[plan.PortID]bool{}, map[string]bool{}
	for i := range l.Claims {
		claim := &l.Claims[i]
		if slots[claim.Slot()] {
			return fmt.Sprintf("the ledger has %s twice", claim.Slot())
		}
		slots[claim.Slot()] = true
		if claim.State != plan.Held {
			continue
		}
		if owners[claim.Owner] || names[claim.MuxName] {
			return fmt.Sprintf("the ledger has %v, or its name %s, twice", claim.Owner, claim.MuxName)
		}
		owners[claim.Owner], names[claim.MuxName] = true, true
	}
	return ""
}

// asksFor is true if a claim is what a channel asks for: one that it keeps from before is its own to give up.
func (p *promises) asksFor(svc *corev1.Service, mux types.NamespacedName, claim *plan.Claim) bool {
	channel, _ := p.sim.language.ParseChannel(svc)
	if !p.sim.language.Classify(svc).Channel() || channel.Mux != mux || p.sim.world.service(mux) == nil || svc.Annotations[p.sim.language.Keys().Disabled] != "" {
		return false
	}
	settings, _ := p.sim.language.ParseMux(p.sim.world.service(mux))
	if !settings.Namespaces.Allows(svc.Namespace) {
		return false
	}
	return slices.ContainsFunc(channel.Ports, func(port validation.ChannelPort) bool {
		auto := port.Request.Kind == validation.Auto && (claim.Source == plan.Auto || settings.Auto.Contains(claim.Public))
		return port.Name == claim.Owner.Name && port.Protocol == claim.Owner.Protocol &&
			(auto || port.Request.Kind != validation.Auto && port.Request.Number == claim.Public)
	})
}

// given: what was another channel's a moment ago, in the ledger or on the mux, isn't given.
func (p *promises) given(c *api.Change, mux types.NamespacedName, now *plan.Ledger, process *process) string {
	var before plan.Ledger
	if cm, is := c.Before.(*corev1.ConfigMap); is && cm != nil {
		read, _, good := p.reading(cm)
		if !good {
			return fmt.Sprintf("freeze: ledger %s couldn't be read, and is written over", c.Key)
		}
		before = read
		if now.Generation < read.Generation {
			return fmt.Sprintf("claims: generation %d follows %d", now.Generation, read.Generation)
		}
	}
	had := map[plan.Slot]*plan.Claim{}
	for i := range before.Claims {
		had[before.Claims[i].Slot()] = &before.Claims[i]
	}
	live := slotsOf(p.sim.world.service(mux))
	for i := range now.Claims {
		claim := &now.Claims[i]
		old := had[claim.Slot()]
		if old != nil && old.Owner.Channel == claim.Owner.Channel {
			continue
		}
		over := old != nil && old.State == plan.InGrace && (p.graces[mux] || process == nil || !old.Until.After(process.now()))
		if old != nil && !over {
			return fmt.Sprintf("one owner: %s goes from %s (%s) to %s at once", claim.Slot(), old.Owner.Channel, old.State, claim.Owner.Channel)
		}
		name := live[claim.Slot()]
		if owner, ours := p.owners[name]; ours && owner != claim.Owner.Channel && !p.drifted[place{mux, claim.Slot(), name}] {
			return fmt.Sprintf("one owner: %s is given to %s while it is on the mux as %s's", claim.Slot(), claim.Owner.Channel, owner)
		}
	}
	return ""
}

// stay: who has a number, and asks for it still, keeps it.
func (p *promises) stay(mux types.NamespacedName, now *plan.Ledger, process *process) string {
	is := map[plan.Slot]plan.Claim{}
	for _, claim := range now.Claims {
		is[claim.Slot()] = claim
	}
	held := p.held[mux]
	for _, slot := range slices.SortedFunc(maps.Keys(held), func(a, b plan.Slot) int { return compare(a.String(), b.String()) }) {
		old, claim := held[slot], is[slot]
		if claim.Owner == old.Owner && claim.State == plan.Held {
			continue
		}
		if p.doubted[mux] && (process == nil || process.knows(api.Services, old.Owner.Channel) == nil) {
			continue // it was rebuilt by one who doesn't see that channel yet
		}
		return fmt.Sprintf("it stays: %s is taken from %s, who asks for it still; now it is %s's (%s)", slot, old.Owner.Channel, claim.Owner.Channel, claim.State)
	}
	return ""
}

// service is a write of ours on a Service.
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
	if !equality.Semantic.DeepEqual(before.Spec, now.Spec) {
		if !p.sim.language.Classify(before).Mux() {
			return fmt.Sprintf("not ours, not touched: the spec of %s is written", c.Key)
		}
		return p.published(c.Key, before, now, process)
	}
	return p.shown(c.Key, before, now, process)
}

// foreign is what isn't ours to change on any Service.
func (p *promises) foreign(before, now *corev1.Service) string {
	ours := func(key string) bool {
		return strings.HasPrefix(key, p.sim.language.Prefix()+"/") || key == validation.ExternalDNSHostname || key == validation.CloudflareProxied
	}
	rest := func(annotations map[string]string) map[string]string {
		annotations = maps.Clone(annotations)
		maps.DeleteFunc(annotations, func(key, _ string) bool { return ours(key) })
		return annotations
	}
	switch keys := p.sim.language.Keys(); {
	case !equality.Semantic.DeepEqual(rest(before.Annotations), rest(now.Annotations)):
		return "an annotation"
	case !equality.Semantic.DeepEqual(before.Labels, now.Labels), !equality.Semantic.DeepEqual(before.Finalizers, now.Finalizers):
		return "labels or finalizers"
	default:
		for _, key := range [...]string{keys.Multiplexer, keys.PortRange, keys.ExplicitRange, keys.MaxPorts, keys.AllowedNamespaces, keys.ReleaseGrace,
			keys.Placeholder, keys.Disabled, keys.AllocationConfigMap, keys.ExternalPorts, keys.ChannelHostname} {
			if before.Annotations[key] != now.Annotations[key] {
				return key
			}
		}
	}
	return ""
}

// published: what comes is claimed, what goes shows no address any more, what isn't ours is as it was.
func (p *promises) published(mux types.NamespacedName, before, now *corev1.Service, process *process) string {
	had, has := slotsOf(before), slotsOf(now)
	claims, generation, sure := p.claims(mux)
	claimed := map[plan.Slot][]string{} // while a ledger moves, there are two
	for _, claim := range claims {
		claimed[claim.Slot()] = append(claimed[claim.Slot()], claim.MuxName)
	}
	for slot, name := range has {
		old := had[slot]
		owner, known := p.owners[name]
		switch {
		case old == name || name == "placeholder":
		case !known:
			return fmt.Sprintf("claims: %s comes as %s, which is nobody's", slot, name)
		case sure && !slices.Contains(claimed[slot], name):
			return fmt.Sprintf("claims: %s comes as %s, of %s, and isn't claimed: %s", slot, name, owner, claimsText(claims))
		case old != "" && p.owners[old] != owner && p.owners[old] != (types.NamespacedName{}) && !p.drifted[place{mux, slot, old}]:
			return fmt.Sprintf("one owner: %s goes from %s to %s in one patch", slot, p.owners[old], owner)
		}
	}
	if stamp := p.stamp(mux); sure && stamp > generation {
		return fmt.Sprintf("claims: the mux has generation %d, and its ledger %d", stamp, generation)
	}
	return p.gone(mux, had, has, func(slot plan.Slot) bool { return !sure || claimed[slot] != nil }, process)
}

func claimsText(claims []plan.Claim) string {
	var list []string
	for _, claim := range claims {
		list = append(list, fmt.Sprintf("%s %s %s", claim.Slot(), claim.Owner.Channel, claim.State))
	}
	return strings.Join(list, ", ")
}

func (p *promises) gone(mux types.NamespacedName, had, has map[plan.Slot]string, claimed func(plan.Slot) bool, process *process) string {
	left := map[types.NamespacedName]bool{}
	for slot, name := range had {
		owner, ours := p.owners[name]
		_, still := has[slot]
		switch {
		case !ours && name != "placeholder" && has[slot] != name && !claimed(slot):
			return fmt.Sprintf("not ours, not touched: port %s (%s) of %s goes", name, slot, mux)
		case ours && !still:
			left[owner] = true
		}
	}
	for _, name := range has {
		delete(left, p.owners[name])
	}
	for _, channel := range sortedKeys(left) {
		if broken := p.hidden(mux, channel, process); broken != "" {
			return broken
		}
	}
	return ""
}

// hidden: a channel that loses its last port shows no address, as far as who takes it knows.
func (p *promises) hidden(mux, channel types.NamespacedName, process *process) string {
	svc := p.sim.world.service(channel)
	if svc == nil || process == nil || len(svc.Status.LoadBalancer.Ingress) == 0 || !p.sim.language.Classify(svc).Channel() {
		return ""
	}
	named, _ := p.sim.language.ParseClass(*svc.Spec.LoadBalancerClass)
	known := process.saw(mux, channel)
	if named != mux || known == nil || known.UID != svc.UID || len(known.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	return fmt.Sprintf("addresses: the last port of %s goes, and it shows %s still", channel, svc.Status.LoadBalancer.Ingress[0].IP)
}

// shown: an address comes once the ports are on the mux, and is the mux's.
func (p *promises) shown(key types.NamespacedName, before, now *corev1.Service, process *process) string {
	for _, condition := range before.Status.Conditions {
		same := slices.ContainsFunc(now.Status.Conditions, func(c metav1.Condition) bool { return equality.Semantic.DeepEqual(c, condition) })
		if !strings.HasPrefix(condition.Type, p.sim.language.Prefix()+"/") && !same {
			return fmt.Sprintf("not ours, not touched: condition %s of %s", condition.Type, key)
		}
	}
	if len(now.Status.LoadBalancer.Ingress) == 0 || equality.Semantic.DeepEqual(before.Status.LoadBalancer, now.Status.LoadBalancer) {
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

// behind: as far as the process knows, the channel has ports on a mux. While a ledger can't be gone by, a channel that says
// that it has ports is believed, and its address follows the mux's.
func (p *promises) behind(key types.NamespacedName, now *corev1.Service, process *process) string {
	if process == nil || !p.sim.language.Classify(now).Channel() {
		return ""
	}
	for _, mux := range muxes() { // it may name another one by now
		if p.doubted[mux] {
			return ""
		}
		known, _ := process.knows(api.Services, mux).(*corev1.Service)
		began, _ := process.began[mux][mux].(*corev1.Service)
		wrote, _ := process.wrote[string(api.Services)+" "+mux.String()].(*corev1.Service)
		for _, svc := range [...]*corev1.Service{known, began, wrote} {
			for _, name := range slotsOf(svc) {
				if p.owners[name] == key {
					return ""
				}
			}
		}
	}
	return fmt.Sprintf("addresses: %s shows an address, and none of its ports is on a mux", key)
}
