package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nowake.ai/svc-lb-mux/validation"
)

// The placeholder is the port of a mux that has no other: a Service needs one.
const (
	placeholderName   = "placeholder"
	placeholderNumber = 101
)

// liveMux is the mux's ports as they are, and whose each of them is.
type liveMux struct {
	ports       []corev1.ServicePort
	bySlot      *slots[*corev1.ServicePort]
	byName      map[string]*corev1.ServicePort // see named
	foreign     []*corev1.ServicePort          // not ours, in the order they have
	placeholder *corev1.ServicePort
	// keepsPlaceholder is true if the placeholder stays beside channels' ports.
	keepsPlaceholder bool
}

// readPorts indexes the mux's ports; whose they are is told by register.
func readPorts(ports []corev1.ServicePort) liveMux {
	live := liveMux{ports: ports, bySlot: &slots[*corev1.ServicePort]{}}
	for i := range ports {
		port := &ports[i]
		live.bySlot.set(slotOf(port), port)
		if isPlaceholder(port) {
			live.placeholder = port
		}
	}
	return live
}

// named is the port of a name; nil if there is none. Ports are mostly asked for by their numbers, so the names are put
// in order only once somebody asks for one.
func (l *liveMux) named(name string) *corev1.ServicePort {
	if l.byName == nil {
		l.byName = make(map[string]*corev1.ServicePort, len(l.ports))
		for i := range l.ports {
			l.byName[l.ports[i].Name] = &l.ports[i]
		}
	}
	return l.byName[name]
}

// MayHaveOurs is true if a mux has ports besides the placeholder: a ledger without claims may have lost theirs.
func MayHaveOurs(ports []corev1.ServicePort) bool {
	return slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return !isPlaceholder(&p) })
}

func isPlaceholder(port *corev1.ServicePort) bool {
	return port.Name == placeholderName && slotOf(port) == Slot{placeholderNumber, corev1.ProtocolTCP}
}

// has is true if the claim's port is on the mux, name and all.
func (l *liveMux) has(claim *Claim) bool {
	port := l.bySlot.at(claim.Slot())
	return port != nil && port.Name == claim.MuxName
}

// register finds out whose each port is, and enters all that is taken. A port is ours if a claim has its name, or if
// a claim that belongs on the mux has its number: then somebody changed its name. All others are foreign: they stay,
// and nobody gets their numbers.
func (p *pass) register() {
	for _, claim := range p.claims {
		p.table.hold(claim)
		p.count(claim, +1)
	}
	published := func(slot Slot) bool {
		claim := p.table.holders.at(slot)
		return claim != nil && p.published(claim)
	}
	for i := range p.w.Mux.Ports {
		port := &p.w.Mux.Ports[i]
		slot := slotOf(port)
		switch {
		case isPlaceholder(port) || published(slot):
		case p.table.names[port.Name] != nil:
			p.table.leave(slot) // unless it is the claim's number, which somebody changed
		case p.unclaimed(port):
			p.table.leave(slot)
			p.plan.Unclaimed = append(p.plan.Unclaimed, Unclaimed{port.Name, p.derived[port.Name]})
		default:
			p.live.foreign = append(p.live.foreign, port)
			p.occupy(port)
			p.reportUnexplained(port)
		}
	}
	if p.keepsPlaceholder() && !published(slotOf(placeholderPort())) {
		p.live.keepsPlaceholder = true
		p.occupy(placeholderPort())
	}
}

// unclaimed is true for a port that is a channel's by its name, though the ledger doesn't know of it: somebody put it
// back, or the ledger is another one. No backends go there. It comes off, unless the channel's address couldn't be taken off
// before, and if its channel asks for it, it gets it then.
func (p *pass) unclaimed(port *corev1.ServicePort) bool {
	if len(port.Name) != nameDigits || !looksOurs(port.Name) {
		return false
	}
	if p.derived == nil {
		p.derived = map[string]types.NamespacedName{}
		for _, c := range p.sorted {
			for i := range c.Ports {
				p.derived[derivedName(PortID{c.Key, c.Ports[i].Name, c.Ports[i].Protocol})] = c.Key
			}
		}
	}
	channel, ours := p.derived[port.Name]
	return ours && !p.w.Stuck[channel]
}

// occupy enters a port that isn't ours.
func (p *pass) occupy(port *corev1.ServicePort) {
	p.table.reserve(port)
	p.held++
	p.carrying[slotOf(port).Protocol]++
}

// keepsPlaceholder is true if the placeholder stays beside channels' ports: its owner says so, or whoever applies the
// mux declares it. To take that away is what makes GitOps tools fight. To put it back is for whoever declares it.
func (p *pass) keepsPlaceholder() bool {
	there := p.live.placeholder != nil
	switch p.w.Mux.Placeholder {
	case validation.PlaceholderKeep:
		return there || p.fitsPlaceholder()
	case validation.PlaceholderRemove:
		return false
	case validation.PlaceholderUsual:
	}
	return there && p.w.Mux.DeclaresPlaceholder
}

// fitsPlaceholder is true if the placeholder may come to the mux beside what is there.
func (p *pass) fitsPlaceholder() bool {
	slot := slotOf(placeholderPort())
	free := p.live.bySlot.at(slot) == nil && p.table.holders.at(slot) == nil && p.live.named(placeholderName) == nil
	return free && p.roomForPlaceholder()
}

// roomForPlaceholder goes by names that stay: what has a channel's number is called as the channel's port by this pass.
func (p *pass) roomForPlaceholder() bool {
	mixes := p.carrying[corev1.ProtocolTCP] < p.held && p.w.Mux.Protocols.OneOnly
	return !p.table.named(placeholderName) && p.held < p.w.Mux.Cap.Ports && !mixes
}

// keepPlaceholder has it stay where it lies on a number that is free once this pass is done.
func (p *pass) keepPlaceholder() {
	if p.live.keepsPlaceholder || p.live.placeholder == nil || !p.keepsPlaceholder() || !p.roomForPlaceholder() {
		return
	}
	if holder := p.table.holders.at(slotOf(placeholderPort())); holder == nil || p.leaves(holder) {
		p.live.keepsPlaceholder = true
		p.occupy(p.live.placeholder)
	}
}

// placeholderLater makes sure of another pass if the placeholder counts from the next one on: it comes because there is
// nothing else, and stays; or it is to be there, and there is room for it only now.
func (p *pass) placeholderLater() {
	if p.live.keepsPlaceholder {
		return
	}
	mode := p.w.Mux.Placeholder
	stays := mode == validation.PlaceholderKeep || mode == validation.PlaceholderUsual && p.w.Mux.DeclaresPlaceholder
	if comes := len(p.plan.InForce)+len(p.live.foreign) == 0; comes && stays {
		p.lookAgain(p.now)
	}
	if mode == validation.PlaceholderKeep && p.roomForPlaceholder() && p.freeForPlaceholder() {
		p.lookAgain(p.now)
		p.expectWrite()
	}
}

// freeForPlaceholder is true if nobody has its number once this pass is done.
func (p *pass) freeForPlaceholder() bool {
	slot := slotOf(placeholderPort())
	_, foreign := p.table.foreign[slot]
	holder := p.table.holders.at(slot)
	return !foreign && (holder == nil || p.leaves(holder) || p.pushedOut[slot])
}

func placeholderPort() *corev1.ServicePort {
	return &corev1.ServicePort{
		Name: placeholderName, Protocol: corev1.ProtocolTCP, Port: placeholderNumber,
		TargetPort: intstr.FromInt32(placeholderNumber),
	}
}

func (p *pass) reportUnexplained(port *corev1.ServicePort) {
	if _, leaves := p.derived[port.Name]; looksOurs(port.Name) && !leaves {
		p.sayOfMux(UnexplainedPort, textUnexplained(port))
	}
}
