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
	placeholderNumber = validation.PlaceholderPort
)

// livePorts are the mux's ports as they are.
type livePorts struct {
	ports   []corev1.ServicePort
	bySlot  *slots[*corev1.ServicePort]
	byName  map[string]*corev1.ServicePort // see named
	ranges  map[string]Span                // by name
	foreign []*corev1.ServicePort          // not ours, in their order
	derived map[string]portOf              // channels' ports by the name that we would give them; see ofChannel
}

func indexPorts(ports []corev1.ServicePort, ranges []validation.MuxRange) livePorts {
	live := livePorts{ports: ports, bySlot: &slots[*corev1.ServicePort]{}}
	for i := range ports {
		live.bySlot.set(SlotOf(&ports[i]), &ports[i])
	}
	if len(ranges) > 0 {
		live.ranges = make(map[string]Span, len(ranges))
	}
	for _, r := range ranges {
		live.ranges[r.Name] = SpanOf(r)
	}
	return live
}

// named returns the port of a name; nil if there is no such port. Most passes ask for numbers alone, so the index is made at the first call.
func (l *livePorts) named(name string) *corev1.ServicePort {
	if l.byName == nil {
		l.byName = make(map[string]*corev1.ServicePort, len(l.ports))
		for i := range l.ports {
			l.byName[l.ports[i].Name] = &l.ports[i]
		}
	}
	return l.byName[name]
}

// spanNamed returns the numbers that a port or a range has under a name.
func (l *livePorts) spanNamed(name string) (Span, bool) {
	if port := l.named(name); port != nil {
		return SlotOf(port).Span(), true
	}
	numbers, there := l.ranges[name]
	return numbers, there
}

// has is true if the claim's numbers are on the mux under its name. They may be a part of a range that is about to change.
func (l *livePorts) has(claim *Claim) bool {
	if port := l.bySlot.at(claim.Slot()); port != nil && port.Name == claim.MuxName && !claim.IsRange() {
		return true
	}
	numbers, there := l.ranges[claim.MuxName]
	return there && numbers.Covers(claim.Span())
}

// MayHaveOurs is true if a mux has ports besides the placeholder, or ranges: a ledger without claims may have lost theirs.
func MayHaveOurs(mux *validation.Mux) bool {
	return len(mux.Ranges) > 0 || slices.ContainsFunc(mux.Ports, func(p corev1.ServicePort) bool { return !isPlaceholder(&p) })
}

func isPlaceholder(port *corev1.ServicePort) bool {
	return port.Name == placeholderName && SlotOf(port) == Slot{placeholderNumber, corev1.ProtocolTCP}
}

func placeholderPort() *corev1.ServicePort {
	return &corev1.ServicePort{
		Name: placeholderName, Protocol: corev1.ProtocolTCP, Port: placeholderNumber,
		TargetPort: intstr.FromInt32(placeholderNumber),
	}
}

// readPorts sorts the ports on the mux: those that are claimed, those that must go, and foreign ones. A port is ours if a claim has its name, or if a published claim has its number:
// then another writer changed its name. All others are foreign: they stay, and no channel gets their numbers. The mux's owner may add one
// within a channel's range, since spec.ports doesn't have ranges: the range stays too.
func readPorts(p *pass) {
	r := &reader{pass: p}
	for i := range r.live.ports {
		port := &r.live.ports[i]
		slot := SlotOf(port)
		holder := r.holders.at(slot)
		switch {
		case isPlaceholder(port):
			if r.w.Mux.keepsPlaceholder() && (holder == nil || !r.belongsOnMux(holder)) {
				r.occupy(port)
			}
		case holder != nil && r.belongsOnMux(holder) && !holder.IsRange():
		case r.names[port.Name] != nil, // a claim's port on another number than the claim's
			r.isUnclaimed(port, holder):
			r.block(slot)
		default:
			r.occupy(port)
			if _, ours := r.live.derived[port.Name]; LooksOurs(port.Name) && !ours && !r.w.ListenersUnknown {
				r.warn(UnexplainedPort, textUnexplained(port))
			}
		}
	}
}

// occupy enters a foreign port.
func (r *reader) occupy(port *corev1.ServicePort) {
	r.live.foreign = append(r.live.foreign, port)
	r.reserve(port)
}

// keepsPlaceholder is true if the placeholder is a foreign port: the mux's applier declares it, or its owner wants it kept. Otherwise we
// added it, and it goes once channels have ports.
func (m *ObservedMux) keepsPlaceholder() bool {
	switch m.Placeholder {
	case validation.PlaceholderKeep:
		return true
	case validation.PlaceholderRemove:
		return false
	case validation.PlaceholderUsual:
	}
	return m.DeclaresPlaceholder
}

// ofChannel returns the channel's port that a port on the mux is named for.
func (r *reader) ofChannel(port *corev1.ServicePort) (portOf, bool) {
	if len(port.Name) != nameDigits || !LooksOurs(port.Name) {
		return portOf{}, false
	}
	if r.live.derived == nil {
		r.live.derived = map[string]portOf{}
		for _, c := range r.channels {
			for i := range c.Ports {
				of := portOf{c, &c.Ports[i]}
				r.live.derived[derivedName(of.id())] = of
			}
		}
	}
	of, ours := r.live.derived[port.Name]
	return of, ours
}

// isUnclaimed is true for a port of ours that no claim has: it comes off, unless its channel's address couldn't be taken off before. It is named for a
// channel's port, because another writer put a port back that we took off. Or its number is claimed, and isn't on the mux, under another name: a
// process renamed the claim and ended before it renamed the port, and the channel was disabled since.
func (r *reader) isUnclaimed(port *corev1.ServicePort, holder *Claim) bool {
	if of, named := r.ofChannel(port); named {
		return !r.m.Stuck[of.channel.Key]
	}
	return holder != nil && LooksOurs(port.Name) && !r.m.Stuck[holder.Owner.Channel]
}

// sortedClaims are claims in the order of their numbers.
func sortedClaims(claims []*Claim) []*Claim {
	if len(claims) < 2 {
		return claims
	}
	return slices.SortedFunc(slices.Values(claims), byNumber)
}
