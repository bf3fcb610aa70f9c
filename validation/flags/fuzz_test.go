package flags

import (
	"net"
	"strconv"
	"testing"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// FuzzAddress compares with package net, which also accepts port names, and anything in brackets.
func FuzzAddress(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{":8080", "127.0.0.1:8080", "[::1]:1", "localhost:65535", "a:65536",
		"[::1:80", "::1:80", "[x]:1", "", ":", "[fe80::1%lo]:9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if Address("--address", value, "8080") != nil {
			return
		}
		host, port, err := net.SplitHostPort(value)
		if err != nil {
			t.Fatalf("%q is accepted, but net returns %v", value, err)
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			t.Fatalf("%q is accepted, with port %q of host %q", value, port, host)
		}
	})
}
