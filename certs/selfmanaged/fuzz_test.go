package selfmanaged

import (
	"bytes"
	"maps"
	"testing"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzSecret writes anything into a key of the Secret. An unreadable value counts as missing, and the keeper comes to
// rest with a usable certificate.
func FuzzSecret(f *testing.F) {
	golden.Seeds(f)
	s := newSim(f)
	s.rest()
	whole := s.secret
	keys := []string{leafCertKey, leafKeyKey, caCertKey, caKeyKey, nextCertKey, nextKeyKey, oldCertsKey, oldSinceKey}
	for i, key := range keys {
		f.Add(uint8(i), whole[key])
		f.Add(uint8(i), whole[caCertKey])
		f.Add(uint8(i), append(bytes.Clone(whole[leafCertKey]), whole[caCertKey]...))
		f.Add(uint8(i), []byte("2030-01-01T00:00:00Z"))
		f.Add(uint8(i), []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		s := newSim(t)
		data := maps.Clone(whole)
		data[keys[int(which)%len(keys)]] = text
		s.setSecret(data)
		s.rest()
	})
}
