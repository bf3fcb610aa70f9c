package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	p.kept[visit{c.By, mux}] = c.Version
	if p.outrun(c, mux) {
		p.believe(mux)
	}
	broken := p.given(c, mux, &now, process)
	if broken == "" {
		broken = p.stay(mux, &now, process)
	}
	had := p.held[mux]
	p.held[mux] = map[plan.Slot]plan.Claim{}
	for _, claim := range now.Claims {
		svc := p.sim.world.service(claim.Owner.Channel)
		if claim.State == plan.Held && svc != nil && svc.DeletionTimestamp == nil && p.asksFor(svc, mux, &claim) {
			p.held[mux][claim.Slot()] = claim
		}
	}
	for of, version := range p.wrote {
		if p.sim.Seed >= Policed && of.mux == mux && of.process != c.By && version > p.looked[visit{c.By, mux}] {
			p.rebuilt[mux] = true
			for slot, name := range slotsOf(p.sim.world.service(mux)) { // who wrote the ledger couldn't know of what came since
				p.drifted[place{mux, slot, name}] = true
			}
		}
	}
	for slot, claim := range had {
		if p.held[mux][slot].Owner != claim.Owner {
			delete(p.told, place{mux, slot, claim.MuxName})
		}
	}
	delete(p.doubted, mux)
	return broken
}

// outrun is true for a first ledger whose writer read the mux before another process wrote that, and before the other's
// ledger went, which would have refused this one. No request can depend on two objects.
func (p *promises) outrun(c *api.Change, mux types.NamespacedName) bool {
	looked := p.looked[visit{c.By, mux}]
	if c.Before != nil || p.lost[mux] <= looked {
		return false
	}
	for visit, version := range p.wrote {
		if visit.mux == mux && visit.process != c.By && version > looked {
			return true
		}
	}
	return false
}

// replaced is true for a process that may go by a ledger which others have deleted or changed since, while another process has
// written the one that is there.
func (p *promises) replaced(mux types.NamespacedName, by string) bool {
	if p.kept[visit{by, mux}] > p.lost[mux] {
		return false
	}
	for visit, version := range p.kept {
		if visit.mux == mux && version > p.lost[mux] && p.lost[mux] > 0 {
			return true
		}
	}
	return false
}

// believe takes a ledger for right that contradicts the mux as it is.
func (p *promises) believe(mux types.NamespacedName) {
	delete(p.held, mux)
	for slot, name := range slotsOf(p.sim.world.service(mux)) {
		p.drifted[place{mux, slot, name}] = true
	}
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

// note takes what a channel says of its ports, as far as it's ours: what people write there, who decides may not have seen yet.
func (p *promises) note(channel *corev1.Service, ours bool) {
	key := client.ObjectKeyFromObject(channel)
	says, _ := validation.ParsePorts(channel.Annotations[p.sim.language.Keys().Ports])
	maps.DeleteFunc(p.told, func(at place, _ bool) bool {
		return p.owners[at.name] == key && !slices.ContainsFunc(says, func(m validation.PortMapping) bool { return m.Public == at.slot.Number })
	})
	for mux, held := range p.held {
		live := slotsOf(p.sim.world.service(mux))
		for slot, claim := range held {
			at := place{mux, slot, claim.MuxName}
			if claim.Owner.Channel == key {
				p.told[at] = (p.told[at] || ours && live[slot] == claim.MuxName) && slices.ContainsFunc(says, func(m validation.PortMapping) bool {
					return m.Name == claim.Owner.Name && m.Public == claim.Public
				})
			}
		}
	}
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
		if p.sim.Seed >= Policed && !p.told[place{mux, slot, old.MuxName}] {
			continue
		}
		if p.doubted[mux] && (process == nil || process.knows(api.Services, old.Owner.Channel) == nil) {
			continue // it was rebuilt by one who doesn't see that channel yet
		}
		return fmt.Sprintf("it stays: %s is taken from %s, who asks for it still; now it is %s's (%s)", slot, old.Owner.Channel, claim.Owner.Channel, claim.State)
	}
	return ""
}

func claimsText(claims []plan.Claim) string {
	var list []string
	for _, claim := range claims {
		list = append(list, fmt.Sprintf("%s %s %s", claim.Slot(), claim.Owner.Channel, claim.State))
	}
	return strings.Join(list, ", ")
}
