package addresses_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/reconciler/addresses"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

func newPasses(t *testing.T, file string, metrics *addresses.Metrics) (*server, func()) {
	t.Helper()
	parsed, err := config.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(newLanguage(t))
	v := s.view()
	c := addresses.New(addresses.Settings{Language: s.language, Namespace: "lb", Pools: parsed, Writes: 1,
		Now: func() time.Time { return s.now }, Metrics: metrics}, v)
	return s, func() {
		t.Helper()
		v.sync(c.Deleted)
		if _, err := c.Pass(t.Context()); err != nil {
			t.Error(err)
		}
		if len(s.broken) > 0 {
			t.Error(s.broken)
		}
	}
}

func TestMuxGetsAnAddressOnceAGatewayReportsIt(t *testing.T) {
	s, pass := newPasses(t, pools, nil)
	s.start("gw-0")
	s.createMux("web", "p", "192.0.2.3")
	shown := func() []netip.Addr { return claims.Shown(s.services[keyOf("web")]) }
	pass()
	if len(shown()) > 0 || s.claims("p") == nil {
		t.Fatalf("after the first pass: shown %v, claims %+v", shown(), s.claims("p"))
	}
	pass()
	if len(shown()) > 0 {
		t.Fatal("the address is shown before a gateway has reported it")
	}
	s.program("gw-0")
	s.report("gw-0")
	pass()
	if diff := cmp.Diff([]netip.Addr{netip.MustParseAddr("192.0.2.3")}, shown(),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	writes := s.writes
	pass()
	if s.writes != writes {
		t.Error("a pass wrote, although nothing had changed")
	}
	want := []string{"web Addressed", "web Carried"}
	if got := slices.DeleteFunc(slices.Clone(s.events),
		func(e string) bool { return !slices.Contains(want, e) }); !slices.Equal(got, want) {
		t.Errorf("Events: %v", s.events)
	}
}

// A range that moved from one pool to another doesn't bring its addresses to a second mux.
func TestClaimsOfOtherPoolsAreNotHandedOut(t *testing.T) {
	const before = "pools: [{name: p, addresses: [192.0.2.1], announce: none}, {name: q, addresses: [192.0.2.9], " +
		"announce: none}]"
	const after = "pools: [{name: p, addresses: [192.0.2.8], announce: none}, {name: q, addresses: [192.0.2.1, " +
		"192.0.2.2], announce: none}]"
	s, pass := newPasses(t, before, nil)
	s.createMux("old", "p", "")
	pass()
	parsed, err := config.Parse([]byte(after))
	if err != nil {
		t.Fatal(err)
	}
	v := s.view()
	c := addresses.New(addresses.Settings{Language: s.language, Namespace: "lb", Pools: parsed, Writes: 1,
		Now: func() time.Time { return s.now }}, v)
	s.createMux("new", "q", "")
	s.createMux("wants", "q", "192.0.2.1")
	v.sync(c.Deleted)
	if _, err := c.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.claims("q").Find(keyOf("new")); len(m.Addresses) != 1 ||
		m.Addresses[0] != netip.MustParseAddr("192.0.2.2") {
		t.Errorf("got %+v", m)
	}
	if _, found := s.claims("q").Find(keyOf("wants")); found || len(s.broken) > 0 {
		t.Errorf("the address of another pool's mux was claimed: %v", s.broken)
	}
}

func TestUnreadableClaimsFreezeTheirPoolOnly(t *testing.T) {
	metrics := addresses.NewMetrics()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)
	s, pass := newPasses(t, pools, metrics)
	s.createMux("web", "p", "")
	s.createMux("api", "q", "")
	s.maps[claims.Name("p")] = &corev1.ConfigMap{Data: map[string]string{claims.Key: "{"}}
	s.maps[claims.Name("p")].Name = claims.Name("p")
	pass()
	pass()
	if s.claims("q") == nil || s.maps[claims.Name("p")].Data[claims.Key] != "{" {
		t.Errorf("ConfigMaps: %v", s.maps)
	}
	warned := 0
	for _, e := range s.events {
		if e == "pool p  ClaimsUnreadable" {
			warned++
		}
	}
	if warned != 1 {
		t.Errorf("Events: %v", s.events)
	}
	families, err := registry.Gather()
	if err != nil || len(families) < 5 {
		t.Errorf("metrics: %v, %v", families, err)
	}
}

// Agents read only the ConfigMap of their own pool, and use no address of any pool as a backend.
func TestEachPoolsConfigMapHasTheAddressesOfAllPools(t *testing.T) {
	const before = "pools: [{name: p, addresses: [192.0.2.0/29], exclude: [192.0.2.2], announce: none}, {name: q, " +
		"addresses: ['2001:db8::1'], announce: none}]"
	const after = "pools: [{name: p, addresses: [192.0.2.0/29], announce: none}, {name: q, addresses: " +
		"['2001:db8::/64'], announce: none}]"
	s, pass := newPasses(t, before, nil)
	s.createMux("web", "p", "")
	pass()
	check := func(want string) {
		t.Helper()
		for _, pool := range []string{"p", "q"} {
			if got := fmt.Sprint(s.claims(pool).Pools); got != want {
				t.Errorf("the claims of pool %s have %s, want %s", pool, got, want)
			}
		}
	}
	check("[192.0.2.0-192.0.2.1 192.0.2.3-192.0.2.7 2001:db8::1-2001:db8::1]")
	claimed := fmt.Sprint(s.claims("p").Muxes)
	parsed, err := config.Parse([]byte(after))
	if err != nil {
		t.Fatal(err)
	}
	v := s.view()
	c := addresses.New(addresses.Settings{Language: s.language, Namespace: "lb", Pools: parsed, Writes: 1,
		Now: func() time.Time { return s.now }}, v)
	for i := range 3 {
		writes := s.writes
		if i == 2 {
			delete(s.maps, claims.Name("p"))
		}
		v.sync(c.Deleted)
		if _, err := c.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("[192.0.2.0-192.0.2.7 2001:db8::-2001:db8::ffff:ffff:ffff:ffff]")
		if i == 1 && s.writes > writes {
			t.Error("a pass wrote, although nothing had changed")
		}
	}
	if fmt.Sprint(s.claims("p").Muxes) != claimed {
		t.Error("the claims of muxes changed")
	}
}
