package certs

import (
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/certs/certstest"
)

// FuzzPair reads what files may hold. What is taken has a certificate, and isn't taken any more once it is cut anywhere.
func FuzzPair(f *testing.F) {
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
			t.Fatal("a pair without a certificate is taken")
		}
		rest := cert[:len(cert)-min(len(cert), int(cut))]
		if hasWholeBlocks(rest) {
			return // what is cut is beside the blocks, or all of a block
		}
		if _, err := (content{rest, key}).pair(); err == nil {
			t.Fatalf("it is taken without its last %d bytes", cut)
		}
	})
}
