package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/validation"
)

// ports returns the ports that the mux must have: foreign ports as they are, then the ports of channels.
func (w *writing) ports(published []*Claim) []corev1.ServicePort {
	ports := make([]corev1.ServicePort, 0, len(published)+len(w.onMux.foreign)+1)
	for _, port := range w.onMux.foreign {
		ports = append(ports, *port)
	}
	for _, claim := range published {
		if !claim.IsRange() {
			ports = append(ports, w.port(claim))
		}
	}
	live := w.onMux.bySlot.at(SlotOf(placeholderPort()))
	there := live != nil && isPlaceholder(live)
	isTaken := slices.ContainsFunc(ports, func(port corev1.ServicePort) bool {
		return SlotOf(&port) == SlotOf(placeholderPort())
	})
	switch {
	case there && !isTaken && w.w.Mux.keepsPlaceholder(): // a channel's port had the placeholder's number, and goes now
		ports = slices.Insert(ports, 0, *live)
	case len(ports) == 0 && there:
		ports = append(ports, *live)
	case len(ports) == 0:
		ports = append(ports, *placeholderPort())
	}
	return ports
}

// ranges returns the ranges that the mux must have. spec.ports can't hold them.
func (w *writing) ranges(published []*Claim) []validation.MuxRange {
	var ranges []validation.MuxRange
	for _, claim := range published {
		if claim.IsRange() {
			ranges = append(ranges,
				validation.MuxRange{Name: claim.MuxName, Run: claim.Span().run(), Protocol: claim.Owner.Protocol})
		}
	}
	slices.SortFunc(ranges, validation.CompareRanges)
	return ranges
}

// publishedClaims returns the claims that belong on the mux, in the order of their ports, and the others.
func (w *writing) publishedClaims() (published, others []*Claim) {
	published = make([]*Claim, 0, len(w.claims))
	for _, claim := range w.claims {
		if w.belongsOnMux(claim) {
			published = append(published, claim)
		} else {
			others = append(others, claim)
		}
	}
	slices.SortFunc(published, byNumber)
	return published, others
}

// port returns a claim's port on the mux. The port keeps its node port, also when its number or its name changes.
func (w *writing) port(claim *Claim) corev1.ServicePort {
	port := corev1.ServicePort{
		Name: claim.MuxName, Protocol: claim.Owner.Protocol, Port: claim.Public,
		TargetPort: intstr.FromInt32(claim.Public),
	}
	if live := w.predecessor(claim); live != nil {
		port.NodePort = live.NodePort
		port.AppProtocol = live.AppProtocol
		if SlotOf(live) == claim.Slot() {
			port.TargetPort = live.TargetPort
		}
	}
	if c := w.byKey[claim.Owner.Channel]; c != nil {
		port.AppProtocol = w.appProtocol(c, claim)
	}
	return port
}

// predecessor returns the port on the mux that becomes a claim's port: the one with the claim's name, or else the one
// on its number; nil if the mux has neither.
func (w *writing) predecessor(claim *Claim) *corev1.ServicePort {
	there := w.onMux.bySlot.at(claim.Slot())
	if there != nil && there.Name == claim.MuxName {
		return there
	}
	if named := w.onMux.named(claim.MuxName); named != nil && SlotOf(named).Protocol == claim.Owner.Protocol {
		return named
	}
	if there != nil && w.keeps(there) {
		return nil
	}
	return there
}

// keeps is true if the claim that has a port's name stays on the mux: then that claim keeps the node port.
func (w *writing) keeps(live *corev1.ServicePort) bool {
	claim := w.names[live.Name]
	return claim != nil && w.belongsOnMux(claim)
}

// appProtocol returns the appProtocol of a claim's port on the mux. A change of it counts as a change of the port, so
// it may have to wait.
func (w *writing) appProtocol(c *channel, claim *Claim) *string {
	var asked *string
	for i := range c.Ports {
		if !c.speaks {
			break
		}
		if port := &c.Ports[i]; port.Name == claim.Owner.Name && port.AppProtocol != "" {
			asked = &port.AppProtocol
		}
	}
	live := w.onMux.bySlot.at(claim.Slot())
	if live == nil || ptr.Deref(live.AppProtocol, "") == ptr.Deref(asked, "") {
		return asked
	}
	if until := w.limitedUntil(c.Key.Namespace); !until.IsZero() {
		w.lookAgain(until)
		return live.AppProtocol
	}
	w.changed[c.Key.Namespace] = true
	return asked
}
