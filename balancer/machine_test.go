package balancer_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/balancer"
	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// proc writes a /proc with good settings, and then changes some.
func proc(t testing.TB, changes map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{"sys/net/ipv4/ip_forward": "1", "sys/net/ipv6/conf/all/forwarding": "1",
		"sys/net/ipv4/conf/all/rp_filter":    "0",
		"sys/net/ipv4/conf/eth0.7/rp_filter": "2", "sys/net/netfilter/nf_conntrack_max": "262144",
		"self/status": "Name:\tx\nCapInh:\t0\nCapEff:\t0000000000003000\n"}
	for name, text := range changes {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWrongSettingsAreNamedWithTheRightOnes(t *testing.T) {
	for name, test := range map[string]struct {
		changes map[string]string
		path    want.ReturnPath
		says    string
	}{
		"all good": {nil, want.ViaRouted, ""},
		"no forwarding": {map[string]string{"sys/net/ipv4/ip_forward": "0"}, want.ViaNode,
			"net.ipv4.ip_forward is 0: no packet reaches a backend: set it to 1"},
		"no forwarding of IPv6": {map[string]string{"sys/net/ipv6/conf/all/forwarding": "0"}, want.ViaNode,
			"net.ipv6.conf.all.forwarding is 0"},
		"a strict filter": {map[string]string{"sys/net/ipv4/conf/eth0.7/rp_filter": "1"}, want.ViaRouted,
			"rp_filter of eth0.7 is 1"},
		"a strict filter, harmless": {map[string]string{"sys/net/ipv4/conf/eth0.7/rp_filter": "1"}, want.ViaNode, ""},
		"few connections": {map[string]string{"sys/net/netfilter/nf_conntrack_max": "1024"}, want.ViaNode,
			"net.netfilter.nf_conntrack_max is 1024"},
		"a nearly full table": {map[string]string{"sys/net/netfilter/nf_conntrack_count": "235930"}, want.ViaNode,
			"the table of connections is nearly full (net.netfilter.nf_conntrack_max is 262144)"},
		"a setting that isn't a number": {map[string]string{"sys/net/netfilter/nf_conntrack_max": "?"}, want.ViaNode, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := balancer.Machine{Proc: proc(t, test.changes), Interface: "eth0.7", ReturnPath: test.path,
				Addresses: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("2001:db8::1")} }}
			faults := m.Check()
			switch {
			case test.says == "" && len(faults) > 0, test.says != "" && len(faults) != 1:
				t.Errorf("got %+v", faults)
			case test.says != "" && !strings.Contains(faults[0].Message, test.says):
				t.Errorf("got %q, want %q", faults[0].Message, test.says)
			}
		})
	}
}

// A table about the limit must not give a fault and an end of it by turns.
func TestNearlyFullTableIsAFaultUntilAFifthIsFree(t *testing.T) {
	count := "sys/net/netfilter/nf_conntrack_count"
	root := proc(t, map[string]string{count: "0"})
	m := balancer.Machine{Proc: root, Interface: "eth0.7", ReturnPath: want.ViaNode, Addresses: func() []netip.Addr {
		return nil
	}}
	for _, step := range []struct {
		count  int
		faults int
	}{{235_000, 0}, {262_144, 1}, {235_000, 1}, {209_000, 0}, {235_000, 0}} {
		if err := os.WriteFile(filepath.Join(root, count), []byte(fmt.Sprint(step.count)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := m.Check(); len(got) != step.faults {
			t.Errorf("%d of 262144 connections: %+v", step.count, got)
		}
	}
}

func TestMissingCapabilitiesAreNamed(t *testing.T) {
	for effective, says := range map[string][]string{"3000": nil, "1ffffffffff": nil, "2000": {"NET_ADMIN"},
		"1000": {"NET_RAW"}, "0": {"NET_ADMIN", "NET_RAW"}} {
		m := balancer.Machine{Proc: proc(t, map[string]string{"self/status": "CapEff:\t" + effective})}
		err := m.CheckRights()
		if (err == nil) != (says == nil) {
			t.Errorf("%s: %v", effective, err)
		}
		for _, word := range says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v", effective, err)
			}
		}
	}
}

func TestAddressForOtherGatewaysStaysWhileItIsUsable(t *testing.T) {
	index := announce.Index("lo")
	own := func(text string) announce.Assigned {
		return announce.Assigned{Address: netip.MustParseAddr(text), Interface: index}
	}
	of := func(change func(*announce.Assigned)) announce.Assigned { x := own("10.0.0.7"); change(&x); return x }
	for name, test := range map[string]struct {
		assigned []announce.Assigned
		want     string
	}{
		"the first one of each family": {[]announce.Assigned{own("10.0.0.3"), own("10.0.0.4"), own("fd00::1"),
			own("fe80::1")}, "[10.0.0.3 fd00::1]"},
		"the one of before": {[]announce.Assigned{own("10.0.0.3"), own("10.0.0.7")}, "[10.0.0.7]"},
		"of before, deprecated now": {
			[]announce.Assigned{own("10.0.0.3"), of(func(x *announce.Assigned) { x.Deprecated = true })}, "[10.0.0.3]"},
		"of before, a mux's now": {[]announce.Assigned{own("10.0.0.3"), of(func(x *announce.Assigned) { x.Marked = true })},
			"[10.0.0.3]"},
		"of before, on another device": {
			[]announce.Assigned{own("10.0.0.3"), of(func(x *announce.Assigned) { x.Interface++ })}, "[10.0.0.3]"},
		"none": {nil, "[]"},
	} {
		if got := fmt.Sprint(balancer.Reachable("lo", test.assigned,
			[]netip.Addr{netip.MustParseAddr("10.0.0.7")})); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
