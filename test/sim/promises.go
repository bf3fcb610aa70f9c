package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
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
	owners map[called]types.NamespacedName
	// drifted are the names that others put on muxes where they are, or that were there when others put another ledger in place.
	drifted map[place]bool
	// held are claims that were written, until their owners or others give reason to let them go.
	held map[types.NamespacedName]map[plan.Slot]plan.Claim
	// pending are claims that their writer didn't know their channels to ask for; they are held from when somebody begins a pass who does.
	pending map[types.NamespacedName]map[plan.Slot]plan.Claim
	// told are those of them that their channels say: what admission doesn't let onto the mux was never anybody's.
	told map[place]bool
	// doubted are muxes whose ledger others have written since we did.
	doubted map[types.NamespacedName]bool
	// rebuilt are those whose ledger others have ever written, and orphaned what was on them then: a port whose owner only the
	// ledger knew is nobody's.
	rebuilt  map[types.NamespacedName]bool
	orphaned map[place]bool
	// slices are those that we made.
	slices map[types.NamespacedName]bool
	// graces are muxes whose grace was changed.
	graces map[types.NamespacedName]bool
	// addresses are those that muxes have had.
	addresses map[string]bool
	// lost is when others last deleted or changed a mux's ledger, and kept when a process last wrote it: versions.
	lost map[types.NamespacedName]int64
	kept map[visit]int64
	// home is the ConfigMap into which a process last wrote a mux's ledger.
	home map[types.NamespacedName]string
}

// visit is a process that writes a mux's ledger.
type visit struct {
	process string
	mux     types.NamespacedName
}

// called is a name on a mux.
type called struct {
	mux  types.NamespacedName
	name string
}

// place is where a name is on a mux.
type place struct {
	mux  types.NamespacedName
	slot plan.Slot
	name string
}

func newPromises(s *Sim) *promises {
	return &promises{sim: s, owners: map[called]types.NamespacedName{}, drifted: map[place]bool{}, told: map[place]bool{},
		held: map[types.NamespacedName]map[plan.Slot]plan.Claim{}, pending: map[types.NamespacedName]map[plan.Slot]plan.Claim{}, doubted: map[types.NamespacedName]bool{}, rebuilt: map[types.NamespacedName]bool{}, orphaned: map[place]bool{},
		slices: map[types.NamespacedName]bool{}, graces: map[types.NamespacedName]bool{}, addresses: map[string]bool{},
		lost: map[types.NamespacedName]int64{}, kept: map[visit]int64{}, home: map[types.NamespacedName]string{}}
}

// nameOf is what we call a channel's port.
func nameOf(channel types.NamespacedName, port string) string {
	sum := sha256.Sum256([]byte(channel.Namespace + "/" + channel.Name + "/" + port))
	return hex.EncodeToString(sum[:10])
}

// see takes a change, and returns the promise that it breaks, with the reason.
func (p *promises) see(c *api.Change) string {
	if channel, is := c.After.(*corev1.Service); is && channel != nil {
		p.note(channel, c.By != "")
	}
	if c.After == nil && c.Kind == api.Services {
		maps.DeleteFunc(p.told, func(at place, _ bool) bool { return p.owners[called{at.mux, at.name}] == c.Key })
	}
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

// nobodys is true for a port that others may have made nobody's.
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
