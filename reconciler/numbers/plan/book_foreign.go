package plan

import corev1 "k8s.io/api/core/v1"

// reserve enters a port that isn't ours.
func (b *book) reserve(port *corev1.ServicePort) {
	slot := SlotOf(port)
	if _, known := b.foreign[slot]; known {
		return
	}
	b.foreign[slot] = port.Name
	b.names[port.Name] = nil
	b.inUse++
	b.carrying[slot.Protocol]++
	if isPort(slot) {
		b.taken[slot.Protocol].add(slot.Number)
	}
}

// hasForeign is true if a port that isn't ours has one of the numbers.
func (b *book) hasForeign(numbers Span) bool {
	if !numbers.isRange() {
		_, foreign := b.foreign[numbers.slot()]
		return foreign
	}
	for slot := range b.foreign {
		if numbers.Covers(slot.Span()) {
			return true
		}
	}
	return false
}

// block reserves a number that no claim has and that a port of ours still uses: no channel gets the number until the
// port is off the mux.
func (b *book) block(slot Slot) {
	if b.holders.at(slot) == nil && isPort(slot) {
		b.leaving[slot] = true
		b.taken[slot.Protocol].add(slot.Number)
	}
}

// isPort is true for a slot with a known protocol and a number from 1 to 65535.
func isPort(s Slot) bool {
	switch s.Protocol {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return s.Number > 0 && s.Number < 1<<16
	}
	return false
}
