package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nowake.ai/svc-lb-mux/validation"
)

// The placeholder is the port of a mux that has no other: a Service needs one.
const (
	placeholderName   = "placeholder"
	placeholderNumber = 101
)

// livePorts are the mux's ports as they are.
type livePorts struct {
	ports   []corev1.ServicePort
	bySlot  *slots[*corev1.ServicePort]
	byName  map[string]*corev1.ServicePort // see named
	foreign []*corev1.ServicePort          // not ours, in their order
	derived map[string]portOf              // channels' ports by the name that we would give them; see ofChannel
}

func indexPorts(ports []corev1.ServicePort) livePorts {
	live := livePorts{ports: ports, bySlot: &slots[*corev1.ServicePort]{}}
	for i := range ports {
		live.bySlot.set(slotOf(&ports[i]), &ports[i])
	}
	return live
}

// named returns the port of a name; nil if there is none. Most passes ask for numbers alone, so the index is made at the first call.
func (l *livePorts) named(name string) *corev1.ServicePort {
	if l.byName == nil {
		l.byName = make(map[string]*corev1.ServicePort, len(l.ports))
		for i := range l.ports {
			l.byName[l.ports[i].Name] = &l.ports[i]
		}
	}
	return l.byName[name]
}

// has is true if the claim's port is on the mux under its name.
func (l *livePorts) has(claim *Claim) bool {
	port := l.bySlot.at(claim.Slot())
	return port != nil && port.Name == claim.MuxName
}

// MayHaveOurs is true if a mux has ports besides the placeholder: a ledger without claims may have lost theirs.
func MayHaveOurs(ports []corev1.ServicePort) bool {
	return slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return !isPlaceholder(&p) })
}

func isPlaceholder(port *corev1.ServicePort) bool {
	return port.Name == placeholderName && slotOf(port) == Slot{placeholderNumber, corev1.ProtocolTCP}
}

func placeholderPort() *corev1.ServicePort {
	return &corev1.ServicePort{
		Name: placeholderName, Protocol: corev1.ProtocolTCP, Port: placeholderNumber,
		TargetPort: intstr.FromInt32(placeholderNumber),
	}
}

// readPorts finds out whose each port on the mux is. A port is ours if a claim has its name, or if a published claim has its number:
// then another writer changed its name. All others are foreign: they stay, and no channel gets their numbers.
func (p *pass) readPorts() {
	for i := range p.live.ports {
		port := &p.live.ports[i]
		slot := slotOf(port)
		holder := p.holders.at(slot)
		switch {
		case isPlaceholder(port):
			if p.keepsPlaceholder() && (holder == nil || !p.isPublished(holder)) {
				p.occupy(port)
			}
		case holder != nil && p.isPublished(holder):
		case p.names[port.Name] != nil: // a claim's port on another number than the claim's
			p.leave(slot)
		case p.isUnclaimed(port):
			p.leave(slot)
			p.plan.Unclaimed = append(p.plan.Unclaimed, Unclaimed{port.Name, p.live.derived[port.Name].channel.Key})
		default:
			p.occupy(port)
			if _, ours := p.live.derived[port.Name]; LooksOurs(port.Name) && !ours {
				p.warn(UnexplainedPort, textUnexplained(port))
			}
		}
	}
}

// occupy enters a foreign port.
func (p *pass) occupy(port *corev1.ServicePort) {
	p.live.foreign = append(p.live.foreign, port)
	p.reserve(port)
}

// keepsPlaceholder is true if the placeholder is a foreign port: the mux's applier declares it, or its owner wants it kept. Otherwise we
// added it, and it goes once channels have ports.
func (p *pass) keepsPlaceholder() bool {
	switch p.w.Mux.Placeholder {
	case validation.PlaceholderKeep:
		return true
	case validation.PlaceholderRemove:
		return false
	case validation.PlaceholderUsual:
	}
	return p.w.Mux.DeclaresPlaceholder
}

// ofChannel returns the channel's port that a port on the mux is named for.
func (p *pass) ofChannel(port *corev1.ServicePort) (portOf, bool) {
	if len(port.Name) != nameDigits || !LooksOurs(port.Name) {
		return portOf{}, false
	}
	if p.live.derived == nil {
		p.live.derived = map[string]portOf{}
		for _, c := range p.channels {
			for i := range c.Ports {
				of := portOf{c, &c.Ports[i]}
				p.live.derived[derivedName(of.id())] = of
			}
		}
	}
	of, ours := p.live.derived[port.Name]
	return of, ours
}

// isUnclaimed is true for a port that is named for a channel's port and has no claim. It comes off, unless the channel's address couldn't be
// taken off before.
func (p *pass) isUnclaimed(port *corev1.ServicePort) bool {
	of, ours := p.ofChannel(port)
	return ours && !p.m.Stuck[of.channel.Key]
}

// sortedClaims are claims in the order of their numbers.
func sortedClaims(claims []*Claim) []*Claim {
	if len(claims) < 2 {
		return claims
	}
	return slices.SortedFunc(slices.Values(claims), byNumber)
}
