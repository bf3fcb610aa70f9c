package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// ledger checks a write of a ledger: a number never goes directly from one owner to another, and channels keep their
// ports.
func (p *promises) ledger(c *api.Change, process *process) string {
	after, _ := c.After.(*corev1.ConfigMap)
	if after == nil {
		return p.dropped(c, process)
	}
	now, mux, good := p.reading(after)
	if !good {
		return fmt.Sprintf("claims: ledger %s can't be read as we wrote it", c.Key)
	}
	if broken := contradiction(&now); broken != "" {
		return "one owner: " + broken
	}
	for i := range now.Claims {
		p.owners[called{mux, now.Claims[i].MuxName}] = now.Claims[i].Owner.Channel
	}
	if svc := p.sim.world.service(mux); svc != nil &&
		(!p.leads(svc, c.Key.Name) || p.movedMeanwhile(mux, c.Key, process)) {
		// the owner or another process changed the name meanwhile: the mux's version has changed, so nothing follows from
		// this write
		return ""
	}
	if stamp := p.stamp(mux); now.Generation < stamp && !p.doubted[mux] {
		return fmt.Sprintf("claims: the mux has generation %d, and its ledger becomes one of %d", stamp, now.Generation)
	}
	if _, names := p.named(mux, c.Key, process); names && now.Generation <= p.stamp(mux) {
		return "" // a former leader wrote late: the ledger that the mux names stays in force
	}
	former := types.NamespacedName{Namespace: mux.Namespace, Name: p.home[mux]}
	p.home[mux], p.kept[visit{c.By, mux}] = c.Key.Name, c.Version
	// A ledger moves once the mux names its new place. Until then, another process goes on with the former ConfigMap, and
	// may not know the writes to the new place.
	_, moves := p.named(mux, c.Key, process)
	isLeftOver := former.Name != "" && (moves || p.namesAnother(mux, former))
	// The mux was deleted while its ledger moved to a ConfigMap that had an older ledger.
	isOverwritten := p.sim.world.service(mux) == nil && former.Name != "" && former.Name != c.Key.Name
	broken := p.onFrozen(c, mux, process)
	if !isOverwritten {
		broken = cmp.Or(broken, p.given(c, mux, &now, process))
	}
	broken = cmp.Or(broken, p.stay(mux, &now, process, isLeftOver))
	had := p.held[mux]
	p.held[mux], p.pending[mux] = map[plan.Slot]plan.Claim{}, map[plan.Slot]plan.Claim{}
	for _, claim := range now.Claims {
		switch before, stays := had[claim.Slot()]; {
		case stays && claim.Owner == before.Owner && claim.State == plan.Releasing:
			p.held[mux][claim.Slot()] = before
		case !p.asksNow(mux, &claim):
		case p.asked(&claim, mux, process):
			p.held[mux][claim.Slot()] = claim
		default:
			p.pending[mux][claim.Slot()] = claim
		}
	}
	for slot, claim := range had {
		if p.held[mux][slot].Owner != claim.Owner {
			delete(p.told, place{mux, slot, claim.MuxName})
		}
	}
	delete(p.doubted, mux)
	if process != nil && p.knowsGrace(mux, process) {
		delete(p.graces, mux)
	}
	return broken
}

// dropped checks the deletion of a ledger: its mux must not name it. A process that didn't know that the mux names it
// is excused.
func (p *promises) dropped(c *api.Change, process *process) string {
	mux, ours := p.sim.world.owned(c.Before.(*corev1.ConfigMap))
	if !ours {
		return fmt.Sprintf("not ours, not touched: ConfigMap %s is deleted", c.Key)
	}
	names := func(svc *corev1.Service) bool {
		return svc != nil && plan.ReadMux(p.sim.language, svc, false).LedgerInForce == c.Key.Name
	}
	if names(p.sim.world.service(mux)) {
		// others made the mux name the moved ledger again before this late deletion
		if process != nil && !names(process.decidedFrom(mux)) {
			p.loses(mux, c.Version)
			return ""
		}
		return fmt.Sprintf("freeze: ledger %s is deleted, and the mux names it", c.Key)
	}
	return ""
}

// believe accepts a ledger that may contradict the mux's ports: those ports no longer count as promised.
func (p *promises) believe(mux types.NamespacedName) {
	delete(p.held, mux)
	delete(p.pending, mux)
	for slot, name := range slotsOf(p.sim.world.service(mux)) {
		p.drifted[place{mux, slot, name}] = true
	}
}

// contradiction returns a contradiction in a ledger, or an empty string.
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

// asksFor returns whether a channel asks for a claim. It also returns false for a claim that the channel only keeps:
// its namespace isn't allowed any more, or its port now asks for `auto` and the number is outside of the range.
func (p *promises) asksFor(svc *corev1.Service, mux types.NamespacedName, claim *plan.Claim) bool {
	channel, _ := p.sim.language.ParseChannel(svc)
	if !p.sim.language.Classify(svc).Channel() || channel.Mux != mux || p.sim.world.service(mux) == nil ||
		svc.Annotations[p.sim.language.Keys().Disabled] != "" {
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

// asksNow returns whether a claim is in force and its channel presently asks for it.
func (p *promises) asksNow(mux types.NamespacedName, claim *plan.Claim) bool {
	if key := claim.Owner.Channel; !claimants.IsService(key) {
		return claim.State == plan.Held && isFor(p.routing.listeners[key], mux, claim) && p.sim.world.service(mux) != nil
	}
	svc := p.sim.world.service(claim.Owner.Channel)
	return claim.State == plan.Held && svc != nil && svc.DeletionTimestamp == nil && p.asksFor(svc, mux, claim)
}

// begins turns pending claims into held ones if the beginning pass knows that their channels ask for them.
func (p *promises) begins(mux types.NamespacedName, process *process) {
	for slot, claim := range p.pending[mux] {
		if key := claim.Owner.Channel; !claimants.IsService(key) {
			if knownAsks(process.served.saw(mux, key), &claim) && p.asksNow(mux, &claim) {
				p.held[mux][slot] = claim
				delete(p.pending[mux], slot)
			}
			continue
		}
		if seen := process.began[mux][claim.Owner.Channel]; seen != nil && p.asksFor(seen, mux, &claim) &&
			p.asksNow(mux, &claim) {
			p.held[mux][slot] = claim
			delete(p.pending[mux], slot)
		}
	}
}

// asked returns whether the pass that writes knew that the channel asks for this claim. A pass knows the cache at its
// beginning, and its own live reads. A channel that asks later gets its number in the next pass: see begins.
func (p *promises) asked(claim *plan.Claim, mux types.NamespacedName, process *process) bool {
	if process == nil {
		return true
	}
	channel := claim.Owner.Channel
	if !claimants.IsService(channel) {
		return knownAsks(process.served.saw(mux, channel), claim)
	}
	seen := process.began[mux][channel]
	if live := process.learnt[channel]; live != nil && (seen == nil || versionOf(live) > versionOf(seen)) {
		seen = live
	}
	return seen == nil || p.asksFor(seen, mux, claim)
}

// knewOf returns whether a process decided from a state of the channel that asks for its claim.
func (p *promises) knewOf(claim *plan.Claim, mux types.NamespacedName, process *process) bool {
	if !claimants.IsService(claim.Owner.Channel) {
		return knownAsks(process.served.saw(mux, claim.Owner.Channel), claim)
	}
	seen := process.saw(mux, claim.Owner.Channel)
	return seen != nil && p.asksFor(seen, mux, claim)
}

// given checks that no slot goes to a channel while another channel has it: in the ledger before this write, or on the
// mux.
func (p *promises) given(c *api.Change, mux types.NamespacedName, now *plan.Ledger, process *process) string {
	var before plan.Ledger
	named, moves := p.named(mux, c.Key, process)
	if cm, is := c.Before.(*corev1.ConfigMap); is && cm != nil {
		read, _, good := p.reading(cm)
		if !good && !moves && !p.namesAnother(mux, c.Key) {
			return fmt.Sprintf("freeze: ledger %s couldn't be read, and is written over", c.Key)
		}
		before = p.believed(cm, mux, read)
		if now.Generation < read.Generation && !moves {
			return fmt.Sprintf("claims: generation %d follows %d", now.Generation, read.Generation)
		}
	}
	if moves && !continues(&before, p.asWritten(mux, process)) {
		before = named // the ledger moves, perhaps over an older ledger, or over one that can't be read
	}
	if !moves && p.namesAnother(mux, c.Key) {
		before = plan.Ledger{} // the ledger that the mux names is gone, and this one may be left over from an earlier move
	}
	had := map[plan.Slot]*plan.Claim{}
	for i := range before.Claims {
		had[before.Claims[i].Slot()] = &before.Claims[i]
	}
	if before.Generation > 0 && len(before.Claims) > 0 {
		if broken := p.newcomers(c, mux, &before, now, process); broken != "" {
			return broken
		}
	}
	live := slotsOf(p.sim.world.service(mux))
	// the last write of the named ledger isn't on the mux yet, so another process may not know it
	isAhead := moves && named.Generation > p.stamp(mux)
	for i := range now.Claims {
		claim := &now.Claims[i]
		old := had[claim.Slot()]
		if isAhead && old != nil && live[claim.Slot()] != old.MuxName {
			old = nil
		}
		if old != nil && old.Owner.Channel == claim.Owner.Channel {
			continue
		}
		if old != nil && !p.mayEnd(old, mux, &before, process) {
			return fmt.Sprintf("one owner: %s goes from %s (%s) to %s at once", claim.Slot(), old.Owner.Channel, old.State,
				claim.Owner.Channel)
		}
		name := live[claim.Slot()]
		// If others wrote the ledger, and another process the mux, this process may know of neither.
		unknown := p.doubted[mux] && !p.found(name, claim.Slot(), mux, process)
		if owner, ours := p.owners[called{mux, name}]; ours && owner != claim.Owner.Channel &&
			!p.drifted[place{mux, claim.Slot(), name}] {
			if unknown {
				p.drifted[place{mux, claim.Slot(), name}] = true // the other process will follow this ledger
				continue
			}
			return fmt.Sprintf("one owner: %s is given to %s while it is on the mux as %s's", claim.Slot(), claim.Owner.Channel,
				owner)
		}
	}
	return ""
}

// note records which ports a channel's annotation shows. It counts only what we wrote: the deciding process may not
// have seen what users write there.
func (p *promises) note(channel *corev1.Service, ours bool) {
	key := client.ObjectKeyFromObject(channel)
	says, _ := validation.ParsePorts(channel.Annotations[p.sim.language.Keys().Ports])
	maps.DeleteFunc(p.told, func(at place, _ plan.PortID) bool {
		return p.owners[called{at.mux, at.name}] == key &&
			!slices.ContainsFunc(says, func(m validation.PortMapping) bool { return m.Public == at.slot.Number })
	})
	for mux, held := range p.held {
		live := slotsOf(p.sim.world.service(mux))
		for slot, claim := range held {
			at := place{mux, slot, claim.MuxName}
			if claim.Owner.Channel == key {
				shows := slices.ContainsFunc(says, func(m validation.PortMapping) bool {
					return m.Name == claim.Owner.Name && m.Public == claim.Public
				})
				switch {
				case !shows:
					delete(p.told, at)
				case ours && live[slot] == claim.MuxName:
					p.told[at] = claim.Owner
				}
			}
		}
	}
}

// stay checks that a channel keeps each number that it still asks for. With isLeftOver, the mux names another ledger
// than the one that is written now, or than the one that was written last. Then a number was never in use if the
// channel's annotation doesn't show it.
func (p *promises) stay(mux types.NamespacedName, now *plan.Ledger, process *process, isLeftOver bool) string {
	is := map[plan.Slot]plan.Claim{}
	for _, claim := range now.Claims {
		is[claim.Slot()] = claim
	}
	held := p.held[mux]
	for _, slot := range slices.SortedFunc(maps.Keys(held),
		func(a, b plan.Slot) int { return compare(a.String(), b.String()) }) {
		old, claim := held[slot], is[slot]
		if claim.Owner == old.Owner && claim.State == plan.Held {
			continue
		}
		if never := !p.found(old.MuxName, slot, mux, process); never && claim.Owner.Channel == old.Owner.Channel &&
			claim.State == plan.Releasing {
			continue // the mux refused the port, under this or a new name; if the port got onto the mux since, it must stay
		}
		if (p.sim.refused > 0 || isLeftOver) && p.told[place{mux, slot, old.MuxName}] != old.Owner {
			continue // a policy kept this port off the mux, or the mux names another ledger: the port was never in use
		}
		if p.doubted[mux] && (process == nil || !p.knewOf(&old, mux, process) || !p.found(old.MuxName, slot, mux, process)) {
			continue // the process rebuilt the ledger, and didn't know the channel's request or the mux's port
		}
		return fmt.Sprintf("it stays: %s is taken from %s, who asks for it still; now it is %s's (%s)", slot,
			old.Owner.Channel, claim.Owner.Channel, claim.State)
	}
	return ""
}

// found returns whether a process knew of a port on a mux when it decided.
func (p *promises) found(name string, slot plan.Slot, mux types.NamespacedName, process *process) bool {
	if process == nil {
		return false
	}
	return slotsOf(process.decidedFrom(mux))[slot] == name
}

func claimsText(claims []plan.Claim) string {
	var list []string
	for _, claim := range claims {
		list = append(list, fmt.Sprintf("%s %s %s", claim.Slot(), claim.Owner.Channel, claim.State))
	}
	return strings.Join(list, ", ")
}
