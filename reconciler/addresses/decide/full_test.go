package decide_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

// fullPool is a pool whose claims are written and read as the controller does.
type fullPool struct {
	testing.TB
	pool   config.Pool
	pools  claims.Ranges
	muxes  []decide.Mux
	stored claims.Claims
	now    time.Time
}

func newFullPool(t testing.TB, more string) *fullPool {
	t.Helper()
	const pool = "name: p, addresses: ['2001:db8::/64'], announce: none, releaseGrace: 60s"
	pools, err := config.Parse([]byte("pools: [{" + pool + more + "}]"))
	if err != nil {
		t.Fatal(err)
	}
	f := &fullPool{TB: t, pool: pools[0], stored: claims.Claims{Pool: "p"}, now: noon}
	for i := range claims.MaxRanges {
		// has the longest text
		a := netip.AddrFrom16([16]byte(append(bytes.Repeat([]byte{0xff}, 14), 0x10+byte(i>>8), byte(i))))
		f.pools = append(f.pools, claims.Range{First: a, Last: a})
	}
	return f
}

// longest is a name of 63 characters.
func longest(prefix string, i int) string {
	name := fmt.Sprintf("%s-%d-", prefix, i)
	return name + strings.Repeat("x", 63-len(name))
}

// add adds muxes with the longest names, so many in each namespace.
func (f *fullPool) add(count, perNamespace int) {
	f.Helper()
	for i := range count {
		uid := fmt.Sprintf("01234567-89ab-cdef-0123-%012d", len(f.muxes))
		s := sceneMux{Name: longest("mux", len(f.muxes)), UID: uid, Age: count - i,
			Families: []corev1.IPFamily{corev1.IPv6Protocol}}
		svc := s.service(f)
		svc.Namespace = longest("namespace", len(f.muxes)/perNamespace)
		m, _ := decide.Parse(language(f), svc)
		f.muxes = append(f.muxes, m)
	}
}

// pass decides about the pool, and stores the claims.
func (f *fullPool) pass() decide.Decision {
	f.Helper()
	deleted := map[types.NamespacedName]types.UID{}
	for i := range f.stored.Muxes {
		deleted[f.stored.Muxes[i].Key] = f.stored.Muxes[i].UID
	}
	a := lease.Gateway{Name: "a", Pool: "p", Facts: &lease.Facts{Capacity: 1}, Report: &lease.Report{}}
	d := decide.Decide(&decide.World{Pool: f.pool, Pools: f.pools, Stored: decide.Stored{Claims: &f.stored},
		Muxes: f.muxes, IsLive: true,
		Now: f.now, Deleted: deleted, Gateways: []decide.Gateway{{IsLive: true, Gateway: a}}})
	if d.Claims != nil {
		f.store(*d.Claims)
	}
	return d
}

func (f *fullPool) store(next claims.Claims) {
	f.Helper()
	text, err := claims.Encode(next)
	if err != nil {
		f.Fatal(err)
	}
	f.stored, err = claims.Decode(&corev1.ConfigMap{Data: map[string]string{claims.Key: text}}, "p")
	if err != nil {
		f.Fatal(err)
	}
}

// empty deletes all muxes, and passes until the claims are empty.
func (f *fullPool) empty() {
	f.Helper()
	f.muxes = nil
	for range 100 {
		if f.pass(); len(f.stored.Muxes) == 0 {
			return
		}
		f.now = f.now.Add(61 * time.Second)
	}
	f.Fatalf("%d claims are left", len(f.stored.Muxes))
}

func reasons(d *decide.Decision) map[string]int {
	count := map[string]int{}
	for _, s := range slices.Concat(d.Hide, d.Show) {
		count[s.Addressed.Reason]++
	}
	return count
}

// TestClaimsFullOfMuxesCanBeEmptied: a claim takes more room once it is released.
func TestClaimsFullOfMuxesCanBeEmptied(t *testing.T) {
	f := newFullPool(t, ", muxesPerNamespace: 10000")
	f.add(6000, 100)
	d := f.pass()
	got := reasons(&d)
	if got[decide.ClaimsFull] == 0 || got[decide.Addressed] != len(f.stored.Muxes) ||
		len(f.stored.Muxes)+got[decide.ClaimsFull] != 6000 {
		t.Fatalf("%d claims, %v", len(f.stored.Muxes), got)
	}
	t.Logf("the claims have room for %d muxes with the longest names", len(f.stored.Muxes))
	f.empty()
}

// TestClaimsBeyondTheRoomForMuxesCanBeEmptied: addresses that muxes show are added to a restored copy, however full it
// is.
func TestClaimsBeyondTheRoomForMuxesCanBeEmptied(t *testing.T) {
	f := newFullPool(t, "")
	filled := claims.Claims{Pool: "p", Gateways: []claims.Gateway{{Name: "a"}}}
	f.add(4000, 100)
	for i := range f.muxes {
		a := netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 14: byte(i >> 8), 15: byte(i)})
		filled.Muxes = append(filled.Muxes, claims.Mux{Key: f.muxes[i].Key, UID: f.muxes[i].UID, Addresses: []netip.Addr{a}})
	}
	if text, err := claims.Encode(filled); err != nil || len(text) < 880<<10 || len(text) > 900<<10 {
		t.Fatalf("the claims have %d bytes, %v", len(text), err)
	}
	f.store(filled)
	f.empty()
}

// TestNamespaceHasAsManyMuxesAsThePoolAllows: what was accepted stays, and other namespaces get addresses.
func TestNamespaceHasAsManyMuxesAsThePoolAllows(t *testing.T) {
	f := newFullPool(t, "")
	f.pool.MuxesPerNamespace = 3
	f.add(5, 5)
	f.add(2, 7) // in the second namespace
	for i := range f.muxes[5:] {
		f.muxes[5+i].Key.Namespace = "neighbour"
	}
	d := f.pass()
	if got := reasons(&d); got[decide.TooManyMuxes] != 2 || got[decide.Addressed] != 5 {
		t.Fatalf("%v", got)
	}
	for _, s := range d.Show {
		if s.Addressed.Reason != decide.TooManyMuxes {
			continue
		}
		for _, part := range []string{"allows 3", s.Mux.Key.Namespace, "muxesPerNamespace"} {
			if s.Addressed.Status != "False" || !strings.Contains(s.Addressed.Message, part) {
				t.Errorf("%+v lacks %q", s.Addressed, part)
			}
		}
	}
	f.pool.MuxesPerNamespace = 1
	d = f.pass()
	if got := reasons(&d); len(f.stored.Muxes) != 5 || got[decide.TooManyMuxes] != 2 {
		t.Errorf("a lower limit took an address: %d claims, %v", len(f.stored.Muxes), got)
	}
	// The address of a deleted mux is reserved for the grace, and counts until then. Otherwise create and delete would
	// fill the claims.
	f.pool.MuxesPerNamespace = 3
	f.muxes = f.muxes[2:]
	d = f.pass()
	if got := reasons(&d); got[decide.TooManyMuxes] != 2 {
		t.Errorf("after a deletion: %v", got)
	}
	f.now = f.now.Add(61 * time.Second)
	f.pass() // the claims lose what expired
	d = f.pass()
	if got := reasons(&d); got[decide.TooManyMuxes] != 0 || len(f.stored.Muxes) != 5 {
		t.Errorf("after the grace: %d claims, %v", len(f.stored.Muxes), got)
	}
}

// BenchmarkWorstPool decides about a pool whose claims a tenant fills: 6,000 new muxes at once, which are more than
// fit, and then the deletion of all of them.
//
// Target: 3 s for each.
func BenchmarkWorstPool(b *testing.B) {
	for b.Loop() {
		f := newFullPool(b, ", muxesPerNamespace: 10000")
		f.add(6000, 100)
		start := time.Now()
		f.pass()
		b.ReportMetric(time.Since(start).Seconds()*1000, "ms-new")
		f.muxes, start = nil, time.Now()
		f.pass()
		b.ReportMetric(time.Since(start).Seconds()*1000, "ms-deleted")
	}
}
