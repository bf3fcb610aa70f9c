package lease_test

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/validation"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func keys(t testing.TB) validation.Keys {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	return language.Keys()
}

func plainCompare() cmp.Options {
	return cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{})}
}

func full() lease.Gateway {
	return lease.Gateway{
		Name: "gw-1", Pool: "public", Labels: map[string]string{"rack": "a"}, Holder: "gw-1/42", RenewedAt: noon,
		Duration: 40 * time.Second,
		Facts: &lease.Facts{
			Node: "worker-1", Zone: "a",
			Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}, Capacity: 10,
			BackendNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Version: "v1.2.3",
		},
		Report: &lease.Report{
			Claims: lease.Version{UID: "c", ResourceVersion: "17"}, Holds: []uint8{7, 9},
			Muxes: []lease.Mux{
				{UID: "1", Programmed: []netip.Addr{netip.MustParseAddr("192.0.2.1")}},
				{UID: "2", Refused: []lease.Refusal{{Port: "http", Reason: "PortsOverlap",
					Message: "port http overlaps port web: give it another number"}}},
			},
			Faults: []lease.Refusal{{Reason: "ForwardingOff", Message: "net.ipv4.ip_forward is 0: set it to 1"}},
		},
	}
}

func TestGatewayIsReadBackAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z]([a-z0-9-]{0,8}[a-z0-9])?`)
		want := lease.Gateway{
			Name: text.Draw(t, "name"), Pool: text.Draw(t, "pool"), Holder: text.Draw(t, "holder"),
			Labels:    map[string]string{"rack": text.Draw(t, "rack")},
			RenewedAt: noon.Add(time.Duration(rapid.Int64Range(-1e12, 1e12).Draw(t, "renewed")) * time.Microsecond),
			Duration:  time.Duration(rapid.IntRange(1, 3600).Draw(t, "seconds")) * time.Second,
			Facts: &lease.Facts{Node: text.Draw(t, "node"), Zone: text.Draw(t, "zone"),
				Capacity: rapid.IntRange(0, 100).Draw(t, "capacity")},
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "addresses") {
			want.Facts.Addresses = append(want.Facts.Addresses, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
			want.Facts.BackendNetworks = append(want.Facts.BackendNetworks,
				netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i)}), 16))
		}
		if rapid.Bool().Draw(t, "counts") {
			amount := rapid.Uint64()
			want.Traffic = &lease.Traffic{Over: time.Duration(rapid.IntRange(1, 1e6).Draw(t, "over")) * time.Millisecond,
				Omitted: rapid.IntRange(0, 9).Draw(t, "omitted")}
			for i := range rapid.IntRange(0, 4).Draw(t, "ports") {
				first := rapid.IntRange(1, 65535).Draw(t, "first")
				want.Traffic.Ports = append(want.Traffic.Ports,
					lease.PortTraffic{Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), Protocol: "UDP",
						First: uint16(first), Last: uint16(rapid.IntRange(first, 65535).Draw(t, "last")),
						Total:  lease.Amounts{Connections: amount.Draw(t, "c"), Packets: amount.Draw(t, "p"), Bytes: amount.Draw(t, "b")},
						Lately: lease.Amounts{Connections: 1, Bytes: 3}})
			}
		}
		if rapid.Bool().Draw(t, "reports") {
			want.Report = &lease.Report{Claims: lease.Version{UID: "c", ResourceVersion: "1"}}
			if rapid.Bool().Draw(t, "probes") {
				want.Report.Probes = &lease.Probes{Settled: rapid.Bool().Draw(t, "settled")}
				for i := range rapid.IntRange(0, 3).Draw(t, "failing") {
					want.Report.Probes.Failing = append(want.Report.Probes.Failing,
						netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), 8080))
				}
			}
			for i := range rapid.IntRange(0, 4).Draw(t, "muxes") {
				mux := lease.Mux{UID: types.UID(fmt.Sprint("mux-", i)),
					Programmed: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}}
				for range rapid.IntRange(0, 3).Draw(t, "refused") {
					mux.Refused = append(mux.Refused,
						lease.Refusal{Port: text.Draw(t, "port"), Reason: "Reason", Message: text.Draw(t, "message")})
				}
				want.Report.Muxes = append(want.Report.Muxes, mux)
				want.Report.Holds = append(want.Report.Holds, uint8(i+1))
			}
		}
		var l coordinationv1.Lease
		k := keysOf(t)
		if err := want.Write(&l, k); err != nil {
			t.Fatal(err)
		}
		got, is := lease.Read(&l, k)
		if diff := cmp.Diff(want, got, plainCompare()); diff != "" || !is {
			t.Errorf("%t, (-want +got):\n%s", is, diff)
		}
	})
}

func keysOf(t *rapid.T) validation.Keys {
	language, err := validation.New(validation.DefaultPrefix, "edge")
	if err != nil {
		t.Fatal(err)
	}
	return language.Keys()
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	want, k := full(), keys(t)
	var l coordinationv1.Lease
	if err := want.Write(&l, k); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{k.GatewayFacts, k.GatewayReport} {
		l.Annotations[key] = strings.Replace(l.Annotations[key], "{", `{"comesLater":[1],`, 1)
	}
	got, _ := lease.Read(&l, k)
	if diff := cmp.Diff(want, got, plainCompare()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForeignAnnotationsStay(t *testing.T) {
	g, k := full(), keys(t)
	l := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"note": "kept",
		k.GatewayReport: "{}"}}}
	g.Report = nil
	if err := g.Write(&l, k); err != nil {
		t.Fatal(err)
	}
	if _, there := l.Annotations[k.GatewayReport]; there || l.Annotations["note"] != "kept" {
		t.Errorf("annotations: %v", l.Annotations)
	}
}

func TestUnreadablePartIsMissingAndNamed(t *testing.T) {
	k := keys(t)
	for name, test := range map[string]struct{ key, text, says string }{
		"no JSON":             {k.GatewayFacts, "{", "it isn't the JSON"},
		"a negative capacity": {k.GatewayFacts, `{"capacity":-1}`, "capacity -1 isn't from 0"},
		"an address with a zone": {k.GatewayFacts, `{"addresses":["fe80::1%eth0"]}`,
			`"fe80::1%eth0" isn't an IP address`},
		"a network with host bits": {k.GatewayFacts, `{"backendNetworks":["10.0.0.1/8"]}`,
			`"10.0.0.1/8" isn't a network`},
		"a router ID that doesn't exist": {k.GatewayReport, `{"holds":[256]}`, "router ID 256"},
		"a mux twice":                    {k.GatewayReport, `{"muxes":[{"uid":"1"},{"uid":"1"}]}`, "mux 1 is there twice"},
		"an address that is none": {k.GatewayReport, `{"muxes":[{"uid":"1","programmed":["x"]}]}`,
			`mux 1: "x" isn't an IP address`},
		"more than an agent would write":    {k.GatewayFacts, strings.Repeat(" ", 17<<10) + "{}", "at most 16384 are read"},
		"a number where there must be text": {k.GatewayReport, `{"muxes":[{"uid":1}]}`, "it isn't the JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			g := full()
			var l coordinationv1.Lease
			if err := g.Write(&l, k); err != nil {
				t.Fatal(err)
			}
			l.Annotations[test.key] = test.text
			got, is := lease.Read(&l, k)
			missing := got.Report == nil
			if test.key == k.GatewayFacts {
				missing = got.Facts == nil
			}
			if !is || !missing || len(got.Problems) != 1 || !strings.Contains(got.Problems[0], test.says) ||
				!strings.Contains(got.Problems[0], test.key) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestGatewayThatCannotBeReadBackIsNotWritten(t *testing.T) {
	k := keys(t)
	for name, test := range map[string]struct {
		change func(*lease.Gateway)
		says   string
	}{
		"a bad name":          {func(g *lease.Gateway) { g.Name = "A" }, "it can't be a gateway's name"},
		"a bad pool":          {func(g *lease.Gateway) { g.Pool = "a.b" }, `pool "a.b" can't be a pool's name`},
		"part of a second":    {func(g *lease.Gateway) { g.Duration = 1500 * time.Millisecond }, "must be whole seconds"},
		"no facts":            {func(g *lease.Gateway) { g.Facts = nil }, "no facts about the machine"},
		"a negative capacity": {func(g *lease.Gateway) { g.Facts.Capacity = -1 }, "capacity -1"},
		"an address in two forms": {
			func(g *lease.Gateway) { g.Facts.Addresses = []netip.Addr{netip.MustParseAddr("::ffff:10.0.0.1")} },
			"isn't a plain IP address"},
	} {
		t.Run(name, func(t *testing.T) {
			g := full()
			test.change(&g)
			l := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "unchanged"}}
			if err := g.Write(&l, k); err == nil || !strings.Contains(err.Error(), test.says) || l.Name != "unchanged" {
				t.Errorf("%v, %+v", err, l)
			}
		})
	}
}

func TestLongReportIsCutAndSaysSo(t *testing.T) {
	g, k := full(), keys(t)
	const muxes = 5000
	g.Report.Muxes = nil
	for i := range muxes {
		g.Report.Muxes = append(g.Report.Muxes,
			lease.Mux{UID: types.UID(fmt.Sprintf("%036d", i)), Programmed: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
				Refused: []lease.Refusal{{Reason: "R", Message: strings.Repeat("x", 400)}}})
	}
	var l coordinationv1.Lease
	if err := g.Write(&l, k); err != nil {
		t.Fatal(err)
	}
	got, _ := lease.Read(&l, k)
	if got.Report == nil || got.Report.Omitted == 0 || got.Report.Omitted+len(got.Report.Muxes) != muxes ||
		len(got.Report.Muxes) < 1000 {
		t.Fatalf("%v", got.Problems)
	}
	if size := len(l.Annotations[k.GatewayReport]); size > 200<<10 || size < 190<<10 {
		t.Errorf("%d bytes", size)
	}
}

func FuzzRead(f *testing.F) {
	golden.Seeds(f)
	k := keys(f)
	g := full()
	var l coordinationv1.Lease
	if err := g.Write(&l, k); err != nil {
		f.Fatal(err)
	}
	f.Add("svc-lb-mux-gateway-a", "public", l.Annotations[k.GatewayFacts], l.Annotations[k.GatewayReport])
	f.Add("svc-lb-mux-gateway-A", "public", `{"capacity":1e3}`, `{"muxes":[{"uid":"2"},{"uid":"1","refused":[{}]}]}`)
	f.Add("svc-lb-mux-gateway-b", "", `{"addresses":["::ffff:1.2.3.4"]}`, `{"omitted":-1,"holds":[1,1,0]}`)
	f.Add("svc-lb-mux-gateway-c", "p", `{"node":"\ud800"}`, `{"muxes":[{"uid":"\u0000"}]}`)
	f.Fuzz(func(t *testing.T, name, pool, facts, report string) {
		l := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{k.Pool: pool},
			Annotations: map[string]string{k.GatewayFacts: facts, k.GatewayReport: report}}}
		got, is := lease.Read(&l, k)
		if !is {
			return
		}
		got.Duration, got.RenewedAt = time.Minute, noon
		var written coordinationv1.Lease
		if err := got.Write(&written, k); err != nil {
			return // no facts, or a bad pool
		}
		got.Problems = nil
		again, _ := lease.Read(&written, k)
		if diff := cmp.Diff(got, again, plainCompare()); diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
	})
}

// TestBusiestKeepsWhatHadMostBytesLately: a gateway may have 10,000 ports, and the Lease has room for few.
func TestBusiestKeepsWhatHadMostBytesLately(t *testing.T) {
	var ports []lease.PortTraffic
	for number := uint16(1); number <= 10_000; number++ {
		p := lease.PortTraffic{Address: netip.MustParseAddr("2001:db8:1234:5678:9abc:def0:1234:5678"),
			Protocol: corev1.ProtocolSCTP, First: number, Last: number,
			Total: lease.Amounts{Connections: math.MaxUint64, Packets: math.MaxUint64, Bytes: math.MaxUint64}}
		p.Lately = lease.Amounts{Connections: math.MaxUint64, Packets: math.MaxUint64,
			Bytes: math.MaxUint64 - uint64(number%100)}
		ports = append(ports, p)
	}
	ports = append(ports,
		lease.PortTraffic{Address: netip.MustParseAddr("192.0.2.1"), Protocol: corev1.ProtocolTCP, First: 80, Last: 80})
	traffic := lease.Busiest(ports, 10*time.Second)
	if n := len(traffic.Ports); n != 64 || traffic.Omitted != 10_000-n {
		t.Errorf("%d ports, %d omitted", n, traffic.Omitted)
	}
	for i, p := range traffic.Ports {
		if p.First != uint16(i+1)*100 {
			t.Fatalf("port %d is the one with most bytes but %d", p.First, i)
		}
	}
	g := full()
	g.Traffic = traffic
	var l coordinationv1.Lease
	if err := g.Write(&l, keys(t)); err != nil {
		t.Fatal(err)
	}
	got, _ := lease.Read(&l, keys(t))
	if diff := cmp.Diff(traffic, got.Traffic, plainCompare()); diff != "" || len(got.Problems) > 0 {
		t.Errorf("%v, (-want +got):\n%s", got.Problems, diff)
	}
}

func TestTrafficThatCannotBeReadIsAProblemAndHarmsNothingElse(t *testing.T) {
	for _, text := range []string{
		`{"seconds":0}`, `{"seconds":0.0004}`, `{"seconds":1e300}`, `{"seconds":-5}`, `[]`,
		`{"seconds":10,"ports":[{"address":"x","port":"80/TCP"}]}`,
		`{"seconds":10,"ports":[{"address":"192.0.2.1","port":"80"}]}`,
		`{"seconds":10,"ports":[{"address":"192.0.2.1","port":"0/TCP"}]}`,
		`{"seconds":10,"ports":[{"address":"192.0.2.1","port":"90-80/TCP"}]}`,
		`{"seconds":10,"ports":[{"address":"192.0.2.1","port":"80-70000/TCP"}]}`,
		`{"seconds":10,"ports":[` + strings.Repeat(`{"address":"192.0.2.1","port":"80/TCP"},`, 64) +
			`{"address":"192.0.2.1","port":"80/TCP"}]}`,
		`{"seconds":10,"omitted":` + strings.Repeat(" ", 30_000) + `1}`,
	} {
		g := full()
		var l coordinationv1.Lease
		if err := g.Write(&l, keys(t)); err != nil {
			t.Fatal(err)
		}
		l.Annotations[keys(t).GatewayTraffic] = text
		got, is := lease.Read(&l, keys(t))
		if !is || got.Traffic != nil || len(got.Problems) != 1 || got.Report == nil || got.Facts == nil {
			t.Errorf("%.100s: %v, problems %q", text, got.Traffic, got.Problems)
		}
	}
}
