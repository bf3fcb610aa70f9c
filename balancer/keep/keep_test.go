package keep_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/keep"
	"nowake.ai/svc-lb-mux/balancer/want"
)

func sample() *keep.State {
	a := netip.MustParseAddr
	mux := types.NamespacedName{Namespace: "edge", Name: "web"}
	wanted := &want.Wanted{
		Tables: want.Tables{
			Addresses: []want.Address{{Address: a("192.0.2.1"), Mux: mux, Source: a("10.0.0.1")},
				{Address: a("2001:db8::1"), Mux: mux}},
			Services: []want.Service{{Address: a("192.0.2.1"), Protocol: "TCP", First: 80, Last: 90, Mux: mux, Sticky: true,
				Slots:   []want.Backend{{Address: a("10.1.0.1"), Port: 8080}},
				Sources: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}},
		},
		Seats: []want.Seat{{RouterID: 7, Priority: 254, Others: 1, Peers: []netip.Addr{a("10.0.0.2")},
			Addresses: []netip.Addr{a("192.0.2.1")}}},
	}
	return &keep.State{Gateway: "a", Pool: "p", Wanted: wanted,
		Tables: &want.Tables{Addresses: wanted.Tables.Addresses[:1]}}
}

func compare() cmp.Options {
	return cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
}

func TestStateIsReadBackAsSaved(t *testing.T) {
	d := keep.Directory(filepath.Join(t.TempDir(), "new"))
	if s, err := d.Load("a", "p"); s != nil || err != nil {
		t.Fatalf("without a file: %v, %v", s, err)
	}
	for range 2 {
		if err := d.Save(sample()); err != nil {
			t.Fatal(err)
		}
		got, err := d.Load("a", "p")
		if diff := cmp.Diff(sample(), got, compare()); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(string(d)); err != nil || len(left) > 0 {
		t.Errorf("after Remove: %v, %v", left, err)
	}
}

func TestBrokenStateIsToldAndNotUsed(t *testing.T) {
	d := keep.Directory(t.TempDir())
	path := filepath.Join(string(d), "state")
	if err := d.Save(sample()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := d.Load("a", "p"); s != nil || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: %+v, %v", len(text), s, err)
		}
	}
	for length := range whole {
		try(whole[:length])
	}
	for i := range whole {
		broken := append([]byte(nil), whole...)
		broken[i] ^= 1
		try(broken)
	}
	try([]byte(strings.Replace(string(whole), "state 1 ", "state 2 ", 1)))
}

func TestStateOfAnotherGatewayOrPoolIsNotUsed(t *testing.T) {
	d := keep.Directory(t.TempDir())
	if err := d.Save(sample()); err != nil {
		t.Fatal(err)
	}
	for _, other := range [][2]string{{"b", "p"}, {"a", "q"}} {
		if s, err := d.Load(other[0], other[1]); s != nil || err == nil {
			t.Errorf("%v: %+v, %v", other, s, err)
		}
	}
}

// A process that was killed while it saved leaves a part of the next state behind.
func TestInterruptedSaveLeavesTheStateBefore(t *testing.T) {
	d := keep.Directory(t.TempDir())
	if err := d.Save(sample()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(d), "state.next"), []byte("svc-lb"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Load("a", "p"); s == nil || err != nil {
		t.Fatalf("%v, %v", s, err)
	}
	if err := d.Save(sample()); err != nil {
		t.Error(err)
	}
}
