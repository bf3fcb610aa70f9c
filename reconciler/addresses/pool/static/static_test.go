package static_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/static"
)

func mux(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "edge", Name: name}
}

func parse(t *testing.T, texts ...string) claims.Ranges {
	t.Helper()
	ranges, err := claims.ParseRanges(texts)
	if err != nil {
		t.Fatal(err)
	}
	return ranges
}

func newPool(t *testing.T) *static.Pool {
	return static.New("office", parse(t, "192.0.2.0/30", "2001:db8::1-2001:db8::2"), parse(t, "192.0.2.0"),
		[]pool.Holding{{Mux: mux("old"),
			Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("198.51.100.1")}}})
}

func TestEnsure(t *testing.T) {
	both := []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	for name, c := range map[string]struct {
		mux, wanted, want string
		reason            pool.Reason
		says              string
	}{
		"the lowest free addresses":  {mux: "new", want: "192.0.2.1 2001:db8::1"},
		"a wanted address":           {mux: "new", wanted: "192.0.2.3", want: "192.0.2.3 2001:db8::1"},
		"a mux keeps what it has":    {mux: "old", want: "192.0.2.2 2001:db8::1"},
		"a mux asks for what it has": {mux: "old", wanted: "198.51.100.1", want: "198.51.100.1 2001:db8::1"},
		"an address outside of the pool": {mux: "new", wanted: "192.0.2.9", reason: pool.Outside,
			says: "192.0.2.9 isn't in pool office"},
		"an excluded address": {mux: "new", wanted: "192.0.2.0", reason: pool.Outside, says: "192.0.2.0 is " +
			"excluded"},
		"an address that another mux has": {mux: "new", wanted: "192.0.2.2", reason: pool.Taken,
			says: "taken by mux edge/old"},
		"the other family's address is taken": {mux: "new", wanted: "2001:db8::9", reason: pool.Outside, says: "2001:db8::9"},
	} {
		t.Run(name, func(t *testing.T) {
			request := pool.Request{Mux: mux(c.mux), Families: both}
			if c.wanted != "" {
				request.Wanted = []netip.Addr{netip.MustParseAddr(c.wanted)}
			}
			p := newPool(t)
			before, _ := p.List(context.Background())
			got, err := p.Ensure(context.Background(), request)
			var refusal *pool.Refusal
			if c.reason != "" {
				after, _ := p.List(context.Background())
				if !errors.As(err, &refusal) || refusal.Reason != c.reason || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %s: %s", err, c.reason, c.says)
				}
				if diff := cmp.Diff(before, after, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
					t.Errorf("a refused request took something: %s", diff)
				}
				return
			}
			var texts []string
			for _, a := range got {
				texts = append(texts, a.String())
			}
			if strings.Join(texts, " ") != c.want || err != nil {
				t.Errorf("got %v, %v, want %s", texts, err, c.want)
			}
		})
	}
}

func TestAFullPoolRefusesUntilAnAddressIsReleased(t *testing.T) {
	p, ctx := newPool(t), context.Background()
	request := func(name string) pool.Request {
		return pool.Request{Mux: mux(name), Families: []corev1.IPFamily{corev1.IPv4Protocol}}
	}
	for _, name := range []string{"a", "b"} {
		if _, err := p.Ensure(ctx, request(name)); err != nil {
			t.Fatal(err)
		}
	}
	var refusal *pool.Refusal
	if got, err := p.Ensure(ctx, request("c")); !errors.As(err, &refusal) || refusal.Reason != pool.Full {
		t.Fatalf("got %v, %v", got, err)
	}
	if err := p.Release(ctx, mux("a")); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Ensure(ctx, request("c")); err != nil || got[0].String() != "192.0.2.1" {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestAvoidedAddressIsHandedOutLast: a machine says which addresses are its own, and its word must not make the pool
// full.
func TestAvoidedAddressIsHandedOutLast(t *testing.T) {
	p, ctx := newPool(t), context.Background()
	p.Avoid(netip.MustParseAddr("192.0.2.1"), "gateway a")
	p.Avoid(netip.MustParseAddr("192.0.2.2"), "gateway a") // the mux "old" has it
	request := func(name string, wanted ...netip.Addr) pool.Request {
		return pool.Request{Mux: mux(name), Families: []corev1.IPFamily{corev1.IPv4Protocol}, Wanted: wanted}
	}
	var refusal *pool.Refusal
	if got, err := p.Ensure(ctx, request("a", netip.MustParseAddr("192.0.2.1"))); !errors.As(err, &refusal) ||
		refusal.Reason != pool.Taken ||
		!strings.Contains(err.Error(), "192.0.2.1 is taken by gateway a") {
		t.Errorf("got %v, %v", got, err)
	}
	for _, c := range []struct{ mux, want string }{{"old", "192.0.2.2"}, {"a", "192.0.2.3"}, {"b", "192.0.2.1"}} {
		if got, err := p.Ensure(ctx, request(c.mux)); err != nil || got[0].String() != c.want {
			t.Errorf("mux %s got %v, %v, want %s", c.mux, got, err, c.want)
		}
	}
}

// Walking over half of a /64 address by address would take longer than anybody waits.
func TestLargeExcludedPartsAreJumpedOver(t *testing.T) {
	for name, test := range map[string]struct {
		excluded []string
		want     string
		size     int
	}{
		"the first half": {[]string{"2001:db8::/65"}, "2001:db8:0:0:8000::", 100},
		"parts that overlap": {[]string{"2001:db8::2:0-2001:db8::ffff:ffff:0:1", "2001:db8::/66", "2001:db8::/96"},
			"2001:db8::ffff:ffff:0:2", 100},
		"all but the last address": {[]string{"2001:db8::-2001:db8::ffff:ffff:ffff:fffe"},
			"2001:db8::ffff:ffff:ffff:ffff", 1},
		"all, up to the very last one": {[]string{"::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, "", 0},
	} {
		p := static.New("office", parse(t, "2001:db8::/64"), parse(t, test.excluded...), nil)
		got, err := p.Choose(pool.Request{Mux: mux("web"), Families: []corev1.IPFamily{corev1.IPv6Protocol}})
		if (err == nil) != (test.want != "") || err == nil && got[0] != netip.MustParseAddr(test.want) {
			t.Errorf("%s: got %v, %v, want %s", name, got, err, test.want)
		}
		if size := p.Size(100); size != test.size {
			t.Errorf("%s: size %d, want %d", name, size, test.size)
		}
	}
}
