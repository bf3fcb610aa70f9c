package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/validation"
)

// ports is the list that the mux must have: foreign ports as they are, then the ports of channels.
func (w *writing) ports(published []*Claim) []corev1.ServicePort {
	ports := make([]corev1.ServicePort, 0, len(published)+len(w.live.foreign)+1)
	for _, port := range w.live.foreign {
		ports = append(ports, *port)
	}
	for _, claim := range published {
		if !claim.IsRange() {
			ports = append(ports, w.port(claim))
		}
	}
	live := w.live.bySlot.at(SlotOf(placeholderPort()))
	there := live != nil && isPlaceholder(live)
	isTaken := slices.ContainsFunc(ports, func(port corev1.ServicePort) bool { return SlotOf(&port) == SlotOf(placeholderPort()) })
	switch {
	case there && !isTaken && w.w.Mux.keepsPlaceholder(): // a channel's port had its number, and goes now
		ports = slices.Insert(ports, 0, *live)
	case len(ports) == 0 && there:
		ports = append(ports, *live)
	case len(ports) == 0:
		ports = append(ports, *placeholderPort())
		if w.holders.at(SlotOf(placeholderPort())) != nil { // a disabled channel holds the number, and yields it if the placeholder is declared
			w.lookAgain(w.now)
		}
	}
	return ports
}

// ranges is the list of ranges that the mux must have. spec.ports can't hold them.
func (w *writing) ranges(published []*Claim) []validation.MuxRange {
	var ranges []validation.MuxRange
	for _, claim := range published {
		if claim.IsRange() {
			ranges = append(ranges, validation.MuxRange{Name: claim.MuxName, Run: claim.Span().run(), Protocol: claim.Owner.Protocol})
		}
	}
	slices.SortFunc(ranges, validation.CompareRanges)
	return ranges
}

// publishedClaims are those that belong on the mux, in the order of their ports.
func (w *writing) publishedClaims() []*Claim {
	claims := make([]*Claim, 0, len(w.claims))
	for _, claim := range w.claims {
		if w.belongsOnMux(claim) {
			claims = append(claims, claim)
		}
	}
	slices.SortFunc(claims, byNumber)
	return claims
}

// port is a claim's port on the mux. It keeps its node port, also when its number or its name changes.
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

// predecessor is what a claim's port was before: it has its name, or at least its number; nil if there is no such port.
func (w *writing) predecessor(claim *Claim) *corev1.ServicePort {
	there := w.live.bySlot.at(claim.Slot())
	if there != nil && there.Name == claim.MuxName {
		return there
	}
	if named := w.live.named(claim.MuxName); named != nil && SlotOf(named).Protocol == claim.Owner.Protocol {
		return named
	}
	if there != nil && w.keeps(there) {
		return nil
	}
	return there
}

// keeps is true if the claim that has a port's name stays on the mux: then it keeps the node port itself.
func (w *writing) keeps(live *corev1.ServicePort) bool {
	claim := w.names[live.Name]
	return claim != nil && w.belongsOnMux(claim)
}

// appProtocol returns the appProtocol of a claim's port on the mux. A change of it is a change of the port.
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
	live := w.live.bySlot.at(claim.Slot())
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

// portChange is the difference between the ports that a mux has and those that it must have.
type portChange struct{ added, removed, renamed, changed []string }

func (c *portChange) empty() bool {
	return len(c.added)+len(c.removed)+len(c.renamed)+len(c.changed) == 0
}

// diffPorts compares ports and ranges with those on the mux as sets. Their order is up to the tool that applies the mux.
func (w *writing) diffPorts(want []corev1.ServicePort, ranges []validation.MuxRange) portChange {
	change := diffRanges(w.w.Mux.Ranges, ranges)
	stay := 0
	for i := range want {
		port := &want[i]
		slot := SlotOf(port)
		old := w.live.bySlot.at(slot)
		if old == nil {
			change.added = append(change.added, slot.String())
			continue
		}
		stay++
		switch {
		case old.Name != port.Name:
			change.renamed = append(change.renamed, slot.String())
		case ptr.Deref(old.AppProtocol, "") != ptr.Deref(port.AppProtocol, ""):
			change.changed = append(change.changed, slot.String())
		}
	}
	if stay < w.live.bySlot.len() {
		change.removed = append(change.removed, w.removed(want)...)
	}
	return change
}

func diffRanges(live, want []validation.MuxRange) portChange {
	var change portChange
	names := make(map[Span]string, len(live))
	for _, r := range live {
		names[SpanOf(r)] = r.Name
	}
	for _, r := range want {
		switch name, there := names[SpanOf(r)]; {
		case !there:
			change.added = append(change.added, SpanOf(r).String())
		case name != r.Name:
			change.renamed = append(change.renamed, SpanOf(r).String())
		}
		delete(names, SpanOf(r))
	}
	for _, r := range live {
		if _, goes := names[SpanOf(r)]; goes {
			change.removed = append(change.removed, SpanOf(r).String())
		}
	}
	return change
}

func (w *writing) removed(want []corev1.ServicePort) []string {
	var stay slots[bool]
	for i := range want {
		stay.set(SlotOf(&want[i]), true)
	}
	var gone []Slot
	for i := range w.live.ports {
		if slot := SlotOf(&w.live.ports[i]); !stay.at(slot) {
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
