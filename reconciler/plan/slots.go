package plan

import corev1 "k8s.io/api/core/v1"

// slots says something of public ports. It finds them by number: to hash thousands of them would cost more than all
// that is decided. What no port can be isn't in there.
type slots[T comparable] struct {
	pages [3][1 << 6]*[1 << 10]T
	n     int
}

// at is what is said of a slot; the zero value if nothing is.
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

// set says something of a slot; the zero value takes it back.
func (s *slots[T]) set(slot Slot, value T) {
	if !isPort(slot) {
		return
	}
	page := &s.pages[protocolIndex(slot.Protocol)][slot.Number>>10]
	if *page == nil {
		*page = new([1 << 10]T)
	}
	var nothing T
	entry := &(*page)[slot.Number&(1<<10-1)]
	if *entry != nothing {
		s.n--
	}
	if value != nothing {
		s.n++
	}
	*entry = value
}

// len is of how many slots something is said.
func (s *slots[T]) len() int { return s.n }

func protocolIndex(protocol corev1.Protocol) int {
	switch protocol {
	case corev1.ProtocolUDP:
		return 1
	case corev1.ProtocolSCTP:
		return 2
	}
	return 0
}
