package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/numbers/record"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// promises checks every write of the reconciler against the promises. It excuses consequences of
// others' actions, and of facts that the process couldn't know. Each excuse is as narrow as possible.
type promises struct {
	sim *Sim
	// owners maps each name that a port on a mux has, or could have, to its channel.
	owners map[called]types.NamespacedName
	// drifted holds ports that others put on muxes. It also holds the ports that were on a mux when others replaced its
	// ledger.
	drifted map[place]bool
	// held holds the written claims, until their owners or others give a reason to release them.
	held map[types.NamespacedName]map[plan.Slot]plan.Claim
	// pending holds written claims whose channels, as far as the writer knew, didn't ask for them. They become held
	// when a pass begins that knows of the request.
	pending map[types.NamespacedName]map[plan.Slot]plan.Claim
	// told maps each port on a mux to the channel's port, if the claim is held and the channel's annotation shows its
	// number. A claim that admission kept off the mux was never in use.
	told map[place]plan.PortID
	// doubted holds the muxes whose ledger others wrote after our last write.
	doubted map[types.NamespacedName]bool
	// rebuilt holds the muxes whose ledger others have ever written, and orphaned the ports that were on those muxes at
	// the time. If only the ledger knew the owner of a port, the port has no owner afterwards.
	rebuilt  map[types.NamespacedName]bool
	orphaned map[place]bool
	// slices holds the slices that we created.
	slices map[types.NamespacedName]bool
	// graces holds the muxes whose grace was changed.
	graces map[types.NamespacedName]bool
	// addresses holds all addresses that muxes have had.
	addresses map[string]bool
	// lost holds the version at which others last deleted or changed a mux's ledger, and kept the version at which a
	// process last wrote it.
	lost map[types.NamespacedName]int64
	kept map[visit]int64
	// routing has the objects of the Gateway API.
	routing routing
	// home is the ConfigMap into which a process last wrote a mux's ledger.
	home map[types.NamespacedName]string
}

// visit is a process that writes the ledger of a mux.
type visit struct {
	process string
	mux     types.NamespacedName
}

// called is the name of a port on a mux.
type called struct {
	mux  types.NamespacedName
	name string
}

// place is a port on a mux: its slot and name.
type place struct {
	mux  types.NamespacedName
	slot plan.Slot
	name string
}

func newPromises(s *Sim) *promises {
	return &promises{sim: s, routing: newRouting(s.language.Prefix()), owners: map[called]types.NamespacedName{},
		drifted: map[place]bool{}, told: map[place]plan.PortID{},
		held:    map[types.NamespacedName]map[plan.Slot]plan.Claim{},
		pending: map[types.NamespacedName]map[plan.Slot]plan.Claim{}, doubted: map[types.NamespacedName]bool{},
		rebuilt: map[types.NamespacedName]bool{}, orphaned: map[place]bool{},
		slices: map[types.NamespacedName]bool{}, graces: map[types.NamespacedName]bool{}, addresses: map[string]bool{},
		lost: map[types.NamespacedName]int64{}, kept: map[visit]int64{}, home: map[types.NamespacedName]string{}}
}

// nameOf returns our name for a channel's port on a mux.
func nameOf(channel types.NamespacedName, port string) string {
	sum := sha256.Sum256([]byte(channel.Namespace + "/" + channel.Name + "/" + port))
	return hex.EncodeToString(sum[:10])
}

// see checks a change, and returns the promise that it breaks with the reason.
func (p *promises) see(c *api.Change) string {
	if channel, is := c.After.(*corev1.Service); is && channel != nil {
		p.note(channel, c.By != "")
	}
	if c.After == nil && c.Kind == api.Services {
		maps.DeleteFunc(p.told, func(at place, _ plan.PortID) bool { return p.owners[called{at.mux, at.name}] == c.Key })
	}
	name, forGateways := author(c.By)
	process := p.sim.process(name)
	switch c.Kind {
	case api.GatewayClasses, api.Gateways, api.ListenerSets, api.TCPRoutes, api.UDPRoutes, api.ReferenceGrants:
		return p.routed(c, process)
	}
	switch {
	case c.By == "":
		p.others(c)
		return ""
	case forGateways && c.Kind == api.Services:
		return p.muxService(c, process)
	}
	switch c.Kind {
	case api.Services:
		return p.service(c, process)
	case api.ConfigMaps:
		return p.ledger(c, process)
	case api.EndpointSlices:
		return p.slice(c)
	case api.Endpoints:
		return fmt.Sprintf("not ours, not touched: Endpoints %s are written", c.Key)
	}
	return ""
}

func (s *Sim) process(name string) *process {
	for _, p := range s.processes {
		if p.name == name {
			return p
		}
	}
	return s.buried[name]
}

// reading decodes a ledger. It returns false if the ledger is unusable.
func (p *promises) reading(cm *corev1.ConfigMap) (plan.Ledger, types.NamespacedName, bool) {
	mux, ours := p.sim.world.owned(cm)
	if !ours {
		return plan.Ledger{}, mux, false
	}
	reading := record.Decode(cm, mux, p.sim.language.Keys())
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

// claims returns the claims of all ledgers of a mux, or only of those ledgers for which some returns true. It returns
// false if a ledger is unusable or was written by others.
func (p *promises) claims(mux types.NamespacedName, some ...func(ledger types.NamespacedName) bool) ([]plan.Claim,
	int64, bool) {
	var claims []plan.Claim
	generation := int64(0)
	for _, key := range p.sim.world.ledgers() {
		read, of, good := p.reading(p.sim.server.Peek(api.ConfigMaps, key).(*corev1.ConfigMap))
		if of != mux || slices.ContainsFunc(some, func(is func(types.NamespacedName) bool) bool { return !is(key) }) {
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

// nobodys returns whether others may have made a port ownerless.
func (p *promises) nobodys(at place) bool { return p.drifted[at] || p.orphaned[at] }

func slotsOf(svc *corev1.Service) map[plan.Slot]string {
	slots := map[plan.Slot]string{}
	if svc != nil {
		for _, port := range svc.Spec.Ports {
			slots[plan.Slot{Number: port.Port, Protocol: port.Protocol}] = port.Name
		}
	}
	return slots
}
