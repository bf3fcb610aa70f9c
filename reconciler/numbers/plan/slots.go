package plan

import corev1 "k8s.io/api/core/v1"

// slots is a map from slots to values. It indexes by number: hashing thousands of slots would cost more than the whole
// decision. It ignores numbers that no port can have.
type slots[T any] struct {
	pages [3][1 << 6]*[1 << 10]T
}

// at returns the value of a slot, or the zero value.
func (s *slots[T]) at(slot Slot) T {
	var nothing T
	if !isPort(slot) {
		return nothing
	}
	page := s.pages[protocolIndex(slot.Protocol)][slot.Number>>10]
	if page == nil {
		return nothing
	}
	return page[slot.Number&(1<<10-1)]
}

// set sets the value of a slot; the zero value removes it.
func (s *slots[T]) set(slot Slot, value T) {
	if !isPort(slot) {
		return
	}
	page := &s.pages[protocolIndex(slot.Protocol)][slot.Number>>10]
	if *page == nil {
		*page = new([1 << 10]T)
	}
	(*page)[slot.Number&(1<<10-1)] = value
}

func protocolIndex(protocol corev1.Protocol) int {
	switch protocol {
	case corev1.ProtocolUDP:
		return 1
	case corev1.ProtocolSCTP:
		return 2
	}
	return 0
}
