package balancer

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// After a restart, an address comes onto the interface only if the tables in the state guard it.
func TestStateTellsWhatTheKernelHolds(t *testing.T) {
	of := func(text string) want.Tables {
		return want.Tables{Addresses: []want.Address{{Address: netip.MustParseAddr(text)}}}
	}
	wanted, before := &want.Wanted{Tables: of("192.0.2.1")}, of("192.0.2.2")
	for name, test := range map[string]struct {
		applied *want.Tables
		want    want.Tables
	}{
		"the kernel took what was wanted":    {&wanted.Tables, of("192.0.2.1")},
		"it failed, and kept what it had":    {&before, of("192.0.2.2")},
		"it failed, and its tables are gone": {nil, want.Tables{}},
	} {
		a := New(Config{State: keep.Directory(t.TempDir())})
		a.before, a.applied = wanted, test.applied
		state := a.state()
		if diff := cmp.Diff(test.want, *state.Applied(),
			cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if isWhole := state.Tables == nil; isWhole != (test.applied == &wanted.Tables) {
			t.Errorf("%s: the same tables are saved twice, or different ones once", name)
		}
	}
}
