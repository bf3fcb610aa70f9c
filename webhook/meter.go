package webhook

import "io"

// meter reads a body and asks for more room once what it had is full. It asks before it reads on: what waits then,
// waits in the connection's buffers.
type meter struct {
	body io.Reader
	more func() *fault // for smallBody bytes
	left int
}

// newMeter has room for a small body, and for a byte more: so one of exactly that size comes to its end.
func newMeter(body io.Reader, more func() *fault) *meter {
	return &meter{body: body, more: more, left: smallBody + 1}
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left == 0 {
		if fault := m.more(); fault != nil {
			return 0, fault
		}
		m.left = smallBody
	}
	n, err := m.body.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}
