package decide_test

import (
	"net/netip"
	"slices"
	"testing"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

// TestBackendIsDownByTheWordOfMostGateways: a gateway whose own network is broken must not take a backend from the
// others.
func TestBackendIsDownByTheWordOfMostGateways(t *testing.T) {
	pools, err := config.Parse([]byte("pools: [{name: p, addresses: [192.0.2.0/29], announce: none, probeBackends: 2s}]"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := netip.MustParseAddrPort("10.1.0.1:8080"), netip.MustParseAddrPort("[fd00::2]:8080")
	said := func(settled bool, failing ...netip.AddrPort) *lease.Probes {
		return &lease.Probes{Settled: settled, Failing: failing}
	}
	for name, test := range map[string]struct {
		before []netip.AddrPort
		probes []*lease.Probes
		stale  bool
		off    bool
		want   []netip.AddrPort
	}{
		"one gateway":  {probes: []*lease.Probes{said(true, b, a)}, want: []netip.AddrPort{a, b}},
		"both of two":  {probes: []*lease.Probes{said(true, a), said(true, a)}, want: []netip.AddrPort{a}},
		"one of two":   {before: []netip.AddrPort{a}, probes: []*lease.Probes{said(true, a), said(true)}},
		"two of three": {probes: []*lease.Probes{said(true, a), said(true, a, b), said(true)}, want: []netip.AddrPort{a}},
		"one of two, and the other isn't settled": {probes: []*lease.Probes{said(true, a), said(false)}},
		"down already, and the other isn't settled": {before: []netip.AddrPort{a},
			probes: []*lease.Probes{said(true, a), said(false)}, want: []netip.AddrPort{a}},
		"one says it often": {probes: []*lease.Probes{said(true, a, a, a, a), said(true),
			said(true)}},
		"one of three, and two don't probe": {probes: []*lease.Probes{said(true, a), nil, nil}},
		"after the only agent's restart": {before: []netip.AddrPort{a}, probes: []*lease.Probes{said(false)},
			want: []netip.AddrPort{a}},
		"no gateway is live": {before: []netip.AddrPort{a}, probes: []*lease.Probes{said(true)},
			stale: true, want: []netip.AddrPort{a}},
		"probes were switched off": {before: []netip.AddrPort{a}, probes: []*lease.Probes{nil, nil}},
		"probes are being switched off": {before: []netip.AddrPort{a},
			probes: []*lease.Probes{nil, said(true, a)}},
		"the backend answers again":                 {before: []netip.AddrPort{a}, probes: []*lease.Probes{said(true)}},
		"switched off while the other one restarts": {before: []netip.AddrPort{a}, probes: []*lease.Probes{nil, said(false)}},
		"the pool has no probes": {before: []netip.AddrPort{a}, probes: []*lease.Probes{said(true, a)},
			off: true},
	} {
		w := &decide.World{Pool: pools[0], Stored: decide.Stored{Claims: &claims.Claims{Pool: "p", Down: test.before}},
			IsLive: true, Now: noon}
		w.Pool.ProbesBackends = !test.off
		for i, probes := range test.probes {
			w.Gateways = append(w.Gateways,
				decide.Gateway{IsLive: !test.stale, Gateway: lease.Gateway{Name: string(rune('a' + i)), Pool: "p",
					Facts: &lease.Facts{Capacity: 1}, Report: &lease.Report{Probes: probes}}})
		}
		got := test.before
		if d := decide.Decide(w); d.Claims != nil {
			got = d.Claims.Down
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
