package certs

import (
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/certs/certstest"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzPair parses any files. An accepted pair has a certificate, and is refused after a cut at any place.
func FuzzPair(f *testing.F) {
	golden.Seeds(f)
	pair := certstest.NewAuthority(f).Pair(f, time.Now().Add(time.Hour))
	f.Add(pair.Cert, pair.Key, uint16(0))
	f.Add(pair.Cert, pair.Key, uint16(len(pair.Cert)/2))
	f.Add(pair.Key, pair.Cert, uint16(7))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n"), []byte{}, uint16(1))
	f.Fuzz(func(t *testing.T, cert, key []byte, cut uint16) {
		taken, err := content{cert, key}.pair()
		if err != nil {
			return
		}
		if taken.Leaf == nil || len(taken.Certificate) == 0 {
			t.Fatal("a pair without a certificate is accepted")
		}
		rest := cert[:len(cert)-min(len(cert), int(cut))]
		if hasWholeBlocks(rest) {
			return // the cut removes only text outside of the blocks, or a whole block
		}
		if _, err := (content{rest, key}).pair(); err == nil {
			t.Fatalf("the pair is accepted without its last %d bytes", cut)
		}
	})
}
