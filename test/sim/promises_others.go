package sim

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/validation"
)

// others records what others did: ports that are theirs now, and reasons to release claims.
func (p *promises) others(c *api.Change) {
	switch c.Kind {
	case api.Services:
		before, _ := c.Before.(*corev1.Service)
		after, _ := c.After.(*corev1.Service)
		if slices.Contains(p.sim.muxes(), c.Key) {
			p.othersOnMux(c.Key, before, after)
			if home := p.home[c.Key]; after != nil && home != "" && !p.leads(after, home) {
				p.loses(c.Key, c.Version)
			}
			return
		}
		p.excuse(func(claim *plan.Claim) bool {
			return claim.Owner.Channel == c.Key &&
				(before == nil || after == nil || p.asks(before, claim) != p.asks(after, claim))
		})
		if after != nil {
			for _, port := range after.Spec.Ports {
				for _, mux := range p.sim.muxes() {
					p.owners[called{mux, nameOf(c.Key, port.Name)}] = c.Key
				}
			}
		}
	case api.ConfigMaps:
		p.othersOnLedger(c)
	}
}

// asks returns everything on which a channel's claim depends. If the channel has a fault, the result has the requests
// of all its ports.
func (p *promises) asks(svc *corev1.Service, claim *plan.Claim) string {
	keys := p.sim.language.Keys()
	class := ""
	if svc.Spec.LoadBalancerClass != nil {
		class = *svc.Spec.LoadBalancerClass
	}
	text := fmt.Sprint(svc.UID, svc.DeletionTimestamp != nil, svc.Spec.Type, class, svc.Annotations[keys.Disabled])
	channel := plan.ReadChannel(p.sim.language, svc)
	if len(channel.Problems) > 0 {
		return text + fmt.Sprint(svc.Annotations[keys.ExternalPorts], svc.Spec.Ports)
	}
	for _, port := range channel.Ports {
		if port.Name == claim.Owner.Name && port.Protocol == claim.Owner.Protocol {
			text += fmt.Sprint(port.Request)
		}
	}
	return text
}

func (p *promises) excuse(which func(*plan.Claim) bool) {
	for _, held := range p.held {
		for slot, claim := range held {
			if which(&claim) {
				delete(held, slot)
			}
		}
	}
}

func (p *promises) othersOnMux(key types.NamespacedName, before, after *corev1.Service) {
	keys := p.sim.language.Keys()
	had := slotsOf(before)
	for slot, name := range slotsOf(after) {
		if had[slot] != name {
			p.drifted[place{key, slot, name}] = true
		}
	}
	setting := func(name string) bool {
		return before == nil || after == nil || before.Annotations[name] != after.Annotations[name]
	}
	if before != nil && setting(keys.ReleaseGrace) {
		p.graces[key] = true
	}
	moved := !equality.Semantic.DeepEqual(had, slotsOf(after))
	if after != nil && setting(keys.AllowedNamespaces) {
		allows := plan.ReadMux(p.sim.language, after, false).Namespaces
		maps.DeleteFunc(p.held[key], func(_ plan.Slot, claim plan.Claim) bool {
			return claimants.IsService(claim.Owner.Channel) && !allows.Allows(claim.Owner.Channel.Namespace)
		})
	}
	if setting(keys.Multiplexer) || p.doubted[key] &&
		(moved || setting(keys.Generation) || setting(keys.AllocationConfigMap)) {
		delete(p.held, key)
		delete(p.pending, key)
		maps.DeleteFunc(p.told, func(at place, _ plan.PortID) bool { return at.mux == key })
	}
	if after != nil && setting(keys.AllocationConfigMap) && p.unseen(key, after) {
		p.believe(key)
	}
	if setting(keys.PortRange) { // a port that now asks for auto may lose a number outside of the range
		for slot, claim := range p.held[key] {
			if svc := p.sim.world.service(claim.Owner.Channel); svc != nil && !p.asksFor(svc, key, &claim) {
				delete(p.held[key], slot)
			}
		}
	}
	if after != nil {
		for _, ingress := range after.Status.LoadBalancer.Ingress {
			p.addresses[ingress.IP+ingress.Hostname] = true
		}
	}
}

// unseen returns whether a mux names a usable ledger that couldn't be found before, because it has no labels. Another
// ledger of the same generation may have been created meanwhile.
func (p *promises) unseen(key types.NamespacedName, mux *corev1.Service) bool {
	name := plan.ReadMux(p.sim.language, mux, false).Ledger
	cm, is := p.sim.server.Peek(api.ConfigMaps,
		types.NamespacedName{Namespace: key.Namespace, Name: name}).(*corev1.ConfigMap)
	if !is || record.Selector().Matches(labels.Set(cm.Labels)) {
		return false
	}
	read, of, good := p.reading(cm)
	return good && of == key && read.Generation >= p.stamp(key)
}

// othersOnLedger keeps only the promises that don't depend on a ledger: the ports on the mux under their derived names.
func (p *promises) othersOnLedger(c *api.Change) {
	mux, ours := p.sim.world.owned(c.Object().(*corev1.ConfigMap))
	if !ours {
		return
	}
	if after, is := c.After.(*corev1.ConfigMap); is && after != nil {
		if read, _, good := p.reading(after); good && len(read.Claims) > 0 && read.Generation >= p.stamp(mux) {
			p.believe(mux) // a copy of an earlier ledger can't be distinguished from the right one
		}
	}
	p.loses(mux, c.Version)
}

// leads returns whether a mux leads to a ConfigMap: the mux names it as the ledger in force, or the mux's owner asks
// for it.
func (p *promises) leads(svc *corev1.Service, name string) bool {
	mux := plan.ReadMux(p.sim.language, svc, false)
	return mux.Ledger == "" || name == mux.Ledger || name == mux.LedgerInForce
}

// loses records the loss of a ledger. Only the ports that can be known without a ledger stay promised.
func (p *promises) loses(mux types.NamespacedName, version int64) {
	p.lost[mux] = version
	p.doubted[mux], p.rebuilt[mux] = true, true
	delete(p.pending, mux)
	live := slotsOf(p.sim.world.service(mux))
	for slot, name := range live {
		p.orphaned[place{mux, slot, name}] = true
	}
	for slot, claim := range p.held[mux] {
		if live[slot] != claim.MuxName || claim.MuxName != nameOf(claim.Owner.Channel, claim.Owner.Name) {
			delete(p.held[mux], slot)
			delete(p.told, place{mux, slot, claim.MuxName})
		}
	}
}

// inherits returns whether only a lost ledger knew a port's owner, that owner is gone, and the channel's annotation has
// the port's number.
func (p *promises) inherits(mux, channel types.NamespacedName, name string) bool {
	svc := p.sim.world.service(channel)
	if svc == nil || p.exists(p.owners[called{mux, name}]) {
		return false
	}
	says, _ := validation.ParsePorts(svc.Annotations[p.sim.language.Keys().Ports])
	for slot, is := range slotsOf(p.sim.world.service(mux)) {
		if is == name && p.orphaned[place{mux, slot, name}] {
			return slices.ContainsFunc(says, func(m validation.PortMapping) bool { return m.Public == slot.Number })
		}
	}
	return false
}

// slice checks a write of a slice. It must be ours, and carry the backends of its own channel. Where only a lost ledger
// knew a port's owner, the channels' annotations decide.
func (p *promises) slice(c *api.Change) string {
	before, _ := c.Before.(*discoveryv1.EndpointSlice)
	if before != nil && !p.slices[c.Key] {
		return fmt.Sprintf("not ours, not touched: slice %s is written", c.Key)
	}
	after, _ := c.After.(*discoveryv1.EndpointSlice)
	if after == nil {
		return ""
	}
	p.slices[c.Key] = true
	channel, _ := project.ChannelOfSlice(p.sim.language.Keys(), after)
	for _, port := range after.Ports {
		mux := project.MuxOfSlice(p.sim.language.Keys(), after)
		if owner := p.owners[called{mux, *port.Name}]; owner != channel && !p.doubted[mux] &&
			!p.holds(mux, channel, *port.Name) && !p.inherits(mux, channel, *port.Name) {
			return fmt.Sprintf("backends: slice %s carries %s under %s, which is %s's", c.Key, channel, *port.Name, owner)
		}
	}
	return ""
}
