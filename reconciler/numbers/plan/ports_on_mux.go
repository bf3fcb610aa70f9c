package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nowake.ai/svc-lb-mux/validation"
)

// The placeholder is the only port of a mux without other ports: a Service needs a port.
const (
	placeholderName   = "placeholder"
	placeholderNumber = validation.PlaceholderPort
)

// portsOnMux are the mux's ports as they are.
type portsOnMux struct {
	ports   []corev1.ServicePort
	bySlot  *slots[*corev1.ServicePort]
	byName  map[string]*corev1.ServicePort // see named
	ranges  map[string]Span                // by name
	foreign []*corev1.ServicePort          // not ours, in the order of spec.ports
	derived map[string]portOf              // channels' ports, by the name that we would derive for them; see ofChannel
}

func indexPorts(ports []corev1.ServicePort, ranges []validation.MuxRange) portsOnMux {
	on := portsOnMux{ports: ports, bySlot: &slots[*corev1.ServicePort]{}}
	for i := range ports {
		on.bySlot.set(SlotOf(&ports[i]), &ports[i])
	}
	if len(ranges) > 0 {
		on.ranges = make(map[string]Span, len(ranges))
	}
	for _, r := range ranges {
		on.ranges[r.Name] = SpanOf(r)
	}
	return on
}

// named returns the port of a name; nil if there is no such port. Most passes ask for numbers alone, so the index is
// made at the first call.
func (o *portsOnMux) named(name string) *corev1.ServicePort {
	if o.byName == nil {
		o.byName = make(map[string]*corev1.ServicePort, len(o.ports))
		for i := range o.ports {
			o.byName[o.ports[i].Name] = &o.ports[i]
		}
	}
	return o.byName[name]
}

// spanNamed returns the numbers that a port or a range has under a name.
func (o *portsOnMux) spanNamed(name string) (Span, bool) {
	if port := o.named(name); port != nil {
		return SlotOf(port).Span(), true
	}
	numbers, there := o.ranges[name]
	return numbers, there
}

// has is true if the claim's numbers are on the mux under the claim's name. They may be a part of a range that is about
// to change.
func (o *portsOnMux) has(claim *Claim) bool {
	if port := o.bySlot.at(claim.Slot()); port != nil && port.Name == claim.MuxName && !claim.IsRange() {
		return true
	}
	numbers, there := o.ranges[claim.MuxName]
	return there && numbers.Covers(claim.Span())
}

// MayHaveOurs is true if a mux has ports besides the placeholder, or ranges: then a ledger without claims may have lost
// claims.
func MayHaveOurs(mux *validation.Mux) bool {
	return len(mux.Ranges) > 0 ||
		slices.ContainsFunc(mux.Ports, func(p corev1.ServicePort) bool { return !isPlaceholder(&p) })
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

// sortedClaims returns claims in the order of their numbers.
func sortedClaims(claims []*Claim) []*Claim {
	if len(claims) < 2 {
		return claims
	}
	return slices.SortedFunc(slices.Values(claims), byNumber)
}
