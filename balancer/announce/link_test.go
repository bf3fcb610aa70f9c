package announce

import (
	"testing"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func FuzzReadAssigned(f *testing.F) {
	golden.Seeds(f)
	// An IPv4 address with a label, flags and a protocol.
	f.Add([]byte("\x02\x20\x80\x00\x07\x00\x00\x00" +
		"\x08\x00\x01\x00\xc0\x00\x02\x01\x08\x00\x02\x00\xc0\x00\x02\x01" +
		"\x08\x00\x08\x00\x80\x00\x00\x00\x05\x00\x0b\x00\x70\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, ok := readAssigned(data); ok && !a.Address.IsValid() {
			t.Errorf("%x gives %+v", data, a)
		}
	})
}
