package claims_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func configMap(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lb", Name: claims.Name("p")},
		Data: map[string]string{claims.Key: text}}
}

func draw(t *rapid.T) claims.Claims {
	name := rapid.StringMatching(`[a-z]([a-z0-9-]{0,8}[a-z0-9])?`)
	c := claims.Claims{Pool: "p"}
	var names []string
	for _, gateway := range rapid.SliceOfNDistinct(name, 0, 4, rapid.ID).Draw(t, "gateways") {
		var addresses []netip.Addr
		if rapid.Bool().Draw(t, "unicast") {
			addresses = []netip.Addr{addr("10.0.0.1"), addr("fd00::1")}
		}
		c.Gateways, names = append(c.Gateways, claims.Gateway{Name: gateway, Addresses: addresses}), append(names, gateway)
	}
	seats := rapid.SliceOfNDistinct(rapid.Uint8Range(1, 255), 0, 5, rapid.ID).Draw(t, "seats")
	for _, id := range seats {
		seat := claims.Seat{RouterID: id}
		if len(names) > 0 {
			seat.Order = rapid.Permutation(names).Draw(t, "order")
		}
		c.Seats = append(c.Seats, seat)
	}
	if rapid.Bool().Draw(t, "adverts") {
		interval := rapid.Int64Range(1, 4095).Draw(t, "interval")
		c.Adverts = claims.Adverts{Interval: time.Duration(interval) * claims.IntervalStep,
			Believed: time.Duration(rapid.Int64Range(interval, 4095).Draw(t, "believed")) * claims.IntervalStep}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "pools") {
		c.Pools = append(c.Pools,
			claims.Range{First: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), Last: netip.AddrFrom4([4]byte{192, 0, 2, 9})})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "down") {
		c.Down = append(c.Down,
			netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), rapid.Uint16Min(1).Draw(t, "port")))
	}
	for i, mux := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID).Draw(t, "muxes") {
		m := claims.Mux{Key: types.NamespacedName{Namespace: name.Draw(t, "namespace"), Name: mux},
			UID:       types.UID(name.Draw(t, "uid")),
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}}
		if rapid.Bool().Draw(t, "dual") {
			m.Addresses = append(m.Addresses, netip.AddrFrom16([16]byte{0x20, 15: byte(i)}))
		}
		if len(seats) > 0 {
			m.Seat = rapid.SampledFrom(seats).Draw(t, "seat")
		}
		c = c.Hold(m)
		if seconds := rapid.Int64Range(-1e9, 1e10).Draw(t, "released"); seconds > 0 {
			c = c.Release(m.Key, time.Unix(seconds, 0))
		}
	}
	return c
}

// unordered compares claims whose seats and gateways weren't sorted.
func unordered() cmp.Options {
	return cmp.Options{compareAddr(), cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b claims.Seat) bool { return a.RouterID < b.RouterID }),
		cmpopts.SortSlices(func(a, b claims.Gateway) bool { return a.Name < b.Name })}
}

func TestClaimsAreReadBackAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t)
		text, err := claims.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := claims.Decode(configMap(text), "p")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, unordered()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if again, err := claims.Encode(got); err != nil || text != again &&
			cmp.Equal(want, got, compareAddr(), cmpopts.EquateEmpty()) {
			t.Errorf("equal claims gave %s and %s, %v", text, again, err)
		}
	})
}

// An older version that dropped an unknown field would lose what a newer one wrote.
func TestUnknownFieldIsRefusedWhereverItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := claims.Encode(draw(t))
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, strings.Count(text, "{")-1).Draw(t, "object")
		parts := strings.SplitAfterN(text, "{", at+2)
		last := len(parts) - 1
		parts[last] = `"comesLater":1,` + parts[last]
		if got, err := claims.Decode(configMap(strings.Join(parts, "")), "p"); err == nil ||
			!strings.Contains(err.Error(), `"comesLater"`) {
			t.Errorf("%s was read as %+v, %v", strings.Join(parts, ""), got, err)
		}
	})
}

const valid = `{"schemaVersion":1,"pool":"p","gateways":[{"name":"a","addresses":["10.0.0.1"]}],` +
	`"seats":[{"routerID":7,"order":["a"]}],` +
	`"muxes":[{"namespace":"edge","name":"web","uid":"1","addresses":["192.0.2.1"],"seat":7,` +
	`"releasedAt":"2026-01-02T03:04:05Z"},` +
	`{"namespace":"edge","name":"api","uid":"2","addresses":["192.0.2.2"]}]}`

func TestBadClaimsAreRefusedWithTheValueAndTheWayOut(t *testing.T) {
	const wayOut = "mend the value, or delete the ConfigMap, so that it is rebuilt from the muxes' statuses"
	for name, test := range map[string]struct{ old, now, says, way string }{
		"nothing": {valid, "", "it is missing or empty", wayOut},
		"no JSON": {valid, "{", "it isn't JSON", wayOut},
		"more behind it": {`"2","addresses":["192.0.2.2"]}]}`, `"2","addresses":["192.0.2.2"]}]}{}`,
			"it isn't JSON", wayOut},
		"no version":                 {`"schemaVersion":1,`, "", "schemaVersion is missing", wayOut},
		"a version before the first": {`"schemaVersion":1`, `"schemaVersion":0`, "schemaVersion 0 doesn't exist", wayOut},
		"a newer version": {`"schemaVersion":1`, `"schemaVersion":2,"new":1`,
			"schemaVersion 2, and this version knows up to 1", "run the newer version again"},
		"an interval that isn't one": {`"pool":"p"`, `"pool":"p","adverts":{"interval":"5ms","believed":"1s"}`,
			`adverts: "5ms" isn't an interval from 10ms to 40.95s`, wayOut},
		"an interval beyond the believed": {`"pool":"p"`, `"pool":"p","adverts":{"interval":"2s","believed":"1s"}`,
			"believed 1s is shorter than interval 2s", wayOut},
		"a bad range of a pool": {`"pool":"p"`, `"pool":"p","pools":["192.0.2.1/24"]`,
			`pools: "192.0.2.1/24" is no range of addresses`, wayOut},
		"another pool":                   {`"pool":"p"`, `"pool":"q"`, `pool "q" isn't "p"`, wayOut},
		"a field twice":                  {`"pool":"p"`, `"pool":"p","muxes":[]`, `field "muxes" is there twice`, wayOut},
		"a field twice in another case":  {`"uid":"1"`, `"uid":"1","UID":"2"`, `field "uid" is there twice`, wayOut},
		"a number for a text":            {`"uid":"1"`, `"uid":1`, "muxes.uid can't be a JSON number", wayOut},
		"a router ID that doesn't exist": {`"routerID":7`, `"routerID":256`, "routerID 256 isn't from 1 to 255", wayOut},
		"an unknown gateway in an order": {`["a"]`, `["b"]`, `gateway "b" is there twice, or not among gateways`, wayOut},
		"a gateway twice in an order": {`["a"]`, `["a","a"]`, `gateway "a" is there twice, or not among gateways`,
			wayOut},
		"an unknown seat": {`"seat":7`, `"seat":8`, "muxes[0], mux edge/web: seat 8 isn't among seats",
			wayOut},
		"one address, two muxes": {"192.0.2.2", "192.0.2.1",
			"muxes[1], mux edge/api: address 192.0.2.1 belongs to mux edge/web, too", wayOut},
		"two addresses of a family": {`["192.0.2.2"]`, `["192.0.2.2","192.0.2.3"]`,
			"addresses 192.0.2.2 and 192.0.2.3 are of one family", wayOut},
		"an address with a zone": {"192.0.2.2", "fe80::1%eth0", `address "fe80::1%eth0" isn't an IP address`,
			wayOut},
		"an IPv4 address written as IPv6": {"192.0.2.2", "::ffff:192.0.2.2", `address "::ffff:192.0.2.2" isn't an IP address`,
			wayOut},
		"a mux twice": {`"name":"api"`, `"name":"web"`, "the mux is there twice", wayOut},
		"a bad name": {`"name":"api"`, `"name":"a/b"`, `name "a/b" can't be a name in Kubernetes`,
			wayOut},
		"a time that is none": {"2026-01-02T03:04:05Z", "yesterday", `releasedAt "yesterday" isn't a time`,
			wayOut},
		"the zero time": {"2026-01-02T03:04:05Z", "0001-01-01T00:00:00Z",
			`releasedAt "0001-01-01T00:00:00Z" isn't a time`, wayOut},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(valid, test.old) {
				t.Fatalf("the valid text has no %s", test.old)
			}
			got, err := claims.Decode(configMap(strings.Replace(valid, test.old, test.now, 1)), "p")
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), test.way) ||
				!strings.HasPrefix(err.Error(), "ConfigMap lb/svc-lb-mux-pool-p, key claims.json: ") {
				t.Errorf("got %+v, %v", got, err)
			}
			if newer := errors.Is(err, claims.ErrNewer); newer != (name == "a newer version") {
				t.Errorf("newer: %t", newer)
			}
		})
	}
	if _, err := claims.Decode(configMap(valid), "p"); err != nil {
		t.Error(err)
	}
}

func TestClaimsThatCannotBeReadBackAreNotWritten(t *testing.T) {
	twice := claims.Claims{Pool: "p"}.Hold(claimed("web", "1", "192.0.2.1"))
	if text, err := claims.Encode(twice); err == nil || !strings.Contains(err.Error(), "seat 7 isn't among seats") {
		t.Errorf("got %s, %v", text, err)
	}
}

func FuzzDecode(f *testing.F) {
	golden.Seeds(f)
	f.Add(valid)
	f.Add(strings.Replace(valid, `"schemaVersion":1`, `"schemaVersion":2`, 1))
	f.Add(strings.Replace(valid, "192.0.2.2", "192.0.2.1", 1))
	f.Add(`{"schemaVersion":1,"pool":"p","muxes":[{"releasedAt":"0001-01-01T00:00:00+01:00"}]}`)
	f.Add(`[[{"a":[]},{"A":1,"a":2}]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := claims.Decode(configMap(text), "p")
		if err != nil {
			return
		}
		written, err := claims.Encode(got)
		if err != nil {
			if !strings.Contains(err.Error(), "a ConfigMap has room for") {
				t.Fatalf("claims that were read can't be written: %v", err)
			}
			return // longer than a ConfigMap
		}
		again, err := claims.Decode(configMap(written), "p")
		if diff := cmp.Diff(got, again, compareAddr(), cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v, (-first +again):\n%s", err, diff)
		}
	})
}

// TestLengthIsNotLessThanTheText: the controller refuses muxes by this length, before it writes.
func TestLengthIsNotLessThanTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		held := draw(t)
		for i := range held.Muxes {
			held.Muxes[i].ReleasedAt = time.Time{}
		}
		without := held
		without.Muxes = nil
		text, err := claims.Encode(held)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := claims.Encode(without)
		if err != nil {
			t.Fatal(err)
		}
		const most = len(`,"seat":255`) + len(`,`) // for a claim without a seat
		length := held.Length()
		if grown := len(text) - len(rest) - len(`,"muxes":[]`); length < grown ||
			length > grown+len(held.Muxes)*most+len(`,"muxes":[]`) {
			t.Errorf("the claims of %d muxes have %d bytes, and Length says %d", len(held.Muxes), grown, length)
		}
	})
}
