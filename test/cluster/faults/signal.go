package faults

// signal wakes all waiters at a change. Its owner's mutex guards both methods. Waiters wait on the channel of next
// without the mutex.
type signal struct {
	changed chan struct{}
}

// next returns a channel that is closed at the next change.
func (s *signal) next() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (s *signal) fire() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}
