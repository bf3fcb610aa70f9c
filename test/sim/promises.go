package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// promises looks at every single write, and holds ours to what is promised at every moment. What others did meanwhile, and
// what the process couldn't know, is no fault of its own: such excuses are as narrow as they can be said.
type promises struct {
	sim *Sim
	// owners has the channel of each name that a port on a mux has, or could have.
	owners map[string]types.NamespacedName
	// drifted are the names that others put on muxes where they are.
	drifted map[place]bool
	// held are claims that were written, until their owners or others give reason to let them go.
	held map[types.NamespacedName]map[plan.Slot]plan.Claim
	// doubted are muxes whose ledger others have written since we did.
	doubted map[types.NamespacedName]bool
	// rebuilt are those whose ledger others have ever written: a port whose owner only the ledger knew is nobody's then.
	rebuilt map[types.NamespacedName]bool
	// slices are those that we made.
	slices map[types.NamespacedName]bool
	// graces are muxes whose grace was changed.
	graces map[types.NamespacedName]bool
	// addresses are those that muxes have had.
	addresses map[string]bool
}

// place is a name on a mux.
type place struct {
	mux  types.NamespacedName
	slot plan.Slot
	name string
}

func newPromises(s *Sim) *promises {
	return &promises{sim: s, owners: map[string]types.NamespacedName{}, drifted: map[place]bool{},
		held: map[types.NamespacedName]map[plan.Slot]plan.Claim{}, doubted: map[types.NamespacedName]bool{}, rebuilt: map[types.NamespacedName]bool{},
		slices: map[types.NamespacedName]bool{}, graces: map[types.NamespacedName]bool{}, addresses: map[string]bool{}}
}

// nameOf is what we call a channel's port.
func nameOf(channel types.NamespacedName, port string) string {
	sum := sha256.Sum256([]byte(channel.Namespace + "/" + channel.Name + "/" + port))
	return hex.EncodeToString(sum[:10])
}

// see takes a change, and returns the promise that it breaks, with the reason.
func (p *promises) see(c *api.Change) string {
	if c.By == "" {
		p.others(c)
		return ""
	}
	process := p.sim.process(c.By)
	switch c.Kind {
	case api.Services:
		return p.service(c, process)
	case api.ConfigMaps:
		return p.ledger(c, process)
	case api.EndpointSlices:
		return p.slice(c)
	}
	return ""
}

func (s *Sim) process(name string) *process {
	for _, p := range s.processes {
		if p.name == name {
			return p
		}
	}
	return nil // it died with the request under way
}

// reading is a ledger as it stands; false if it can't be gone by.
func (p *promises) reading(cm *corev1.ConfigMap) (plan.Ledger, types.NamespacedName, bool) {
	mux, ours := p.sim.world.owned(cm)
	if !ours {
		return plan.Ledger{}, mux, false
	}
	reading := ledger.Decode(cm, mux, p.sim.language.Keys())
	return reading.Ledger, mux, reading.Condition <= plan.Edited
}

func (p *promises) ledgerText(cm *corev1.ConfigMap) string {
	read, mux, good := p.reading(cm)
	if !good {
		return "can't be read"
	}
	text := fmt.Sprintf("of %s generation %d:", mux, read.Generation)
	for i := range read.Claims {
		claim := &read.Claims[i]
		text += fmt.Sprintf(" %s=%s/%s(%s)", claim.Slot(), claim.Owner.Channel, claim.Owner.Name, claim.State)
	}
	return text
}

// claims are what all ledgers of a mux say now; false if one can't be gone by, or others wrote it.
func (p *promises) claims(mux types.NamespacedName) ([]plan.Claim, int64, bool) {
	var claims []plan.Claim
	generation := int64(0)
	for _, key := range p.sim.world.ledgers() {
		read, of, good := p.reading(p.sim.server.Peek(api.ConfigMaps, key).(*corev1.ConfigMap))
		if of != mux {
			continue
		}
		if !good {
			return nil, 0, false
		}
		claims = append(claims, read.Claims...)
		generation = max(generation, read.Generation)
	}
	return claims, generation, !p.doubted[mux]
}

func (p *promises) stamp(mux types.NamespacedName) int64 {
	svc := p.sim.world.service(mux)
	if svc == nil {
		return 0
	}
	parsed, _ := p.sim.language.ParseMux(svc)
	return parsed.Generation
}

func slotsOf(svc *corev1.Service) map[plan.Slot]string {
	slots := map[plan.Slot]string{}
	if svc != nil {
		for _, port := range svc.Spec.Ports {
			slots[plan.Slot{Number: port.Port, Protocol: port.Protocol}] = port.Name
		}
	}
	return slots
}

// others notes what others did: names that are theirs now, and reasons for claims to go.
func (p *promises) others(c *api.Change) {
	switch c.Kind {
	case api.Services:
		before, _ := c.Before.(*corev1.Service)
		after, _ := c.After.(*corev1.Service)
		if slices.Contains(muxes(), c.Key) {
			p.othersOnMux(c.Key, before, after)
			return
		}
		if before == nil || after == nil || p.asks(before) != p.asks(after) {
			p.excuse(func(claim *plan.Claim) bool { return claim.Owner.Channel == c.Key })
		}
		if after != nil {
			for _, port := range after.Spec.Ports {
				p.owners[nameOf(c.Key, port.Name)] = c.Key
			}
		}
	case api.ConfigMaps:
		p.othersOnLedger(c)
	}
}

// asks is all that a channel's claims depend on.
func (p *promises) asks(svc *corev1.Service) string {
	keys := p.sim.language.Keys()
	class := ""
	if svc.Spec.LoadBalancerClass != nil {
		class = *svc.Spec.LoadBalancerClass
	}
	text := fmt.Sprint(svc.UID, svc.DeletionTimestamp != nil, svc.Spec.Type, class, svc.Annotations[keys.ExternalPorts], svc.Annotations[keys.Disabled])
	for _, port := range svc.Spec.Ports {
		text += fmt.Sprint(" ", port.Name, port.Port, port.Protocol)
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
	if setting(keys.ReleaseGrace) {
		p.graces[key] = true
	}
	moved := !equality.Semantic.DeepEqual(had, slotsOf(after))
	if setting(keys.AllowedNamespaces) || setting(keys.Multiplexer) || p.doubted[key] && (moved || setting(keys.Generation) || setting(keys.AllocationConfigMap)) {
		delete(p.held, key)
	}
	if after != nil {
		for _, ingress := range after.Status.LoadBalancer.Ingress {
			p.addresses[ingress.IP+ingress.Hostname] = true
		}
	}
}

// othersOnLedger leaves as promised only what can be known without a ledger: what is on the mux under its derived name.
func (p *promises) othersOnLedger(c *api.Change) {
	mux, ours := p.sim.world.owned(c.Object().(*corev1.ConfigMap))
	if !ours {
		return
	}
	p.doubted[mux], p.rebuilt[mux] = true, true
	if after, is := c.After.(*corev1.ConfigMap); is && after != nil {
		if read, _, good := p.reading(after); good && len(read.Claims) > 0 && read.Generation >= p.stamp(mux) {
			delete(p.held, mux) // a copy from another life can't be told from the right one
		}
	}
	live := slotsOf(p.sim.world.service(mux))
	for slot, claim := range p.held[mux] {
		if live[slot] != claim.MuxName || claim.MuxName != nameOf(claim.Owner.Channel, claim.Owner.Name) {
			delete(p.held[mux], slot)
		}
	}
}

// slice: ours alone are written, and each carries its own channel's backends. Whose a port is that only a lost ledger knew,
// channels say.
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
	channel, _ := plan.ChannelOfSlice(p.sim.language.Keys(), after)
	for _, port := range after.Ports {
		if owner := p.owners[*port.Name]; owner != channel && !p.doubted[plan.MuxOfSlice(p.sim.language.Keys(), after)] {
			return fmt.Sprintf("backends: slice %s carries %s under %s, which is %s's", c.Key, channel, *port.Name, owner)
		}
	}
	return ""
}
