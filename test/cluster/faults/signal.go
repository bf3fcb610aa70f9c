package faults

// signal wakes all who wait for a change. Its owner's mutex guards both methods; what next returned is waited on
// without it.
type signal struct {
	changed chan struct{}
}

// next is closed at the next change.
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
