package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ports is the list that the mux must have: foreign ports as they are, then the ports of channels.
func (p *pass) ports(published []*Claim) []corev1.ServicePort {
	ports := make([]corev1.ServicePort, 0, len(published)+len(p.live.foreign)+1)
	for _, port := range p.live.foreign {
		ports = append(ports, *port)
	}
	for _, claim := range published {
		ports = append(ports, p.port(claim))
	}
	live := p.live.bySlot.at(slotOf(placeholderPort()))
	there := live != nil && isPlaceholder(live)
	isTaken := slices.ContainsFunc(ports, func(port corev1.ServicePort) bool { return slotOf(&port) == slotOf(placeholderPort()) })
	switch {
	case there && !isTaken && p.keepsPlaceholder(): // it lay on the number of a port that goes now
		ports = slices.Insert(ports, 0, *live)
	case len(ports) == 0 && there:
		ports = append(ports, *live)
	case len(ports) == 0:
		ports = append(ports, *placeholderPort())
		if p.holders.at(slotOf(placeholderPort())) != nil { // a disabled channel holds the number, and yields it if the placeholder is declared
			p.lookAgain(p.now)
		}
	}
	return ports
}

// publishedClaims are those that belong on the mux, in the order of their ports.
func (p *pass) publishedClaims() []*Claim {
	claims := make([]*Claim, 0, len(p.claims))
	for _, claim := range p.claims {
		if p.isPublished(claim) {
			claims = append(claims, claim)
		}
	}
	slices.SortFunc(claims, byNumber)
	return claims
}

// port is a claim's port on the mux. It keeps its node port, also when its number or its name changes.
func (p *pass) port(claim *Claim) corev1.ServicePort {
	port := corev1.ServicePort{
		Name: claim.MuxName, Protocol: claim.Owner.Protocol, Port: claim.Public,
		TargetPort: intstr.FromInt32(claim.Public),
	}
	if live := p.predecessor(claim); live != nil {
		port.NodePort = live.NodePort
		port.AppProtocol = live.AppProtocol
		if slotOf(live) == claim.Slot() {
			port.TargetPort = live.TargetPort
		}
	}
	if c := p.byKey[claim.Owner.Channel]; c != nil {
		port.AppProtocol = p.appProtocol(c, claim)
	}
	return port
}

// predecessor is what a claim's port was before: it has its name, or at least its number; nil if there is none.
func (p *pass) predecessor(claim *Claim) *corev1.ServicePort {
	there := p.live.bySlot.at(claim.Slot())
	if there != nil && there.Name == claim.MuxName {
		return there
	}
	if named := p.live.named(claim.MuxName); named != nil && slotOf(named).Protocol == claim.Owner.Protocol {
		return named
	}
	if there != nil && p.keeps(there) {
		return nil
	}
	return there
}

// keeps is true if the claim that has a port's name stays on the mux: then it keeps the node port itself.
func (p *pass) keeps(live *corev1.ServicePort) bool {
	claim := p.names[live.Name]
	return claim != nil && p.isPublished(claim)
}

// appProtocol returns the appProtocol of a claim's port on the mux. A change of it is a change of the port.
func (p *pass) appProtocol(c *channel, claim *Claim) *string {
	var asked *string
	for i := range c.Ports {
		if !c.speaks {
			break
		}
		if port := &c.Ports[i]; port.Name == claim.Owner.Name && port.AppProtocol != "" {
			asked = &port.AppProtocol
		}
	}
	live := p.live.bySlot.at(claim.Slot())
	if live == nil || deref(live.AppProtocol) == deref(asked) {
		return asked
	}
	if until := p.limitedUntil(c.Key.Namespace); !until.IsZero() {
		p.lookAgain(until)
		return live.AppProtocol
	}
	p.changed[c.Key.Namespace] = true
	return asked
}

// portChange is the difference between the ports that a mux has and those that it must have.
type portChange struct{ added, removed, renamed, changed []string }

func (c *portChange) empty() bool {
	return len(c.added)+len(c.removed)+len(c.renamed)+len(c.changed) == 0
}

// diffPorts compares the ports with those on the mux as sets. Their order is up to the tool that applies the mux.
func (p *pass) diffPorts(want []corev1.ServicePort) portChange {
	var change portChange
	stay := 0
	for i := range want {
		port := &want[i]
		slot := slotOf(port)
		old := p.live.bySlot.at(slot)
		if old == nil {
			change.added = append(change.added, slot.String())
			continue
		}
		stay++
		switch {
		case old.Name != port.Name:
			change.renamed = append(change.renamed, slot.String())
		case deref(old.AppProtocol) != deref(port.AppProtocol):
			change.changed = append(change.changed, slot.String())
		}
	}
	if stay < p.live.bySlot.len() {
		change.removed = p.removed(want)
	}
	return change
}

func (p *pass) removed(want []corev1.ServicePort) []string {
	var stay slots[bool]
	for i := range want {
		stay.set(slotOf(&want[i]), true)
	}
	var gone []Slot
	for i := range p.live.ports {
		if slot := slotOf(&p.live.ports[i]); !stay.at(slot) {
			gone = append(gone, slot)
		}
	}
	slices.SortFunc(gone, compareSlots)
	removed := make([]string, 0, len(gone))
	for _, slot := range gone {
		removed = append(removed, slot.String())
	}
	return removed
}

func compareSlots(a, b Slot) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
}
