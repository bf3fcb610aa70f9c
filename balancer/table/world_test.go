package table_test

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/test/nettest"
)

// world is a client, a gateway with the muxes' addresses, and a machine with backends.
type world struct {
	client, gateway, backends *nettest.Namespace
	kernel                    *table.Kernel
}

// addresses are those of one family.
type addresses struct {
	mux, other          netip.Addr // two muxes' addresses
	own, client         netip.Addr // the gateway's, on the backends' side; the client's
	front               netip.Addr // the gateway's, on the client's side
	backends            []netip.Addr
	nearby, far, everyt netip.Prefix // networks with the client, without it, and all
	edges               []netip.Prefix
}

func families() map[string]addresses {
	a, p := netip.MustParseAddr, netip.MustParsePrefix
	return map[string]addresses{
		"IPv4": {a("192.0.2.10"), a("192.0.2.11"), a("10.9.2.1"), a("10.9.1.2"), a("10.9.1.1"),
			[]netip.Addr{a("10.9.2.11"), a("10.9.2.12"), a("10.9.2.13")}, p("10.9.1.0/24"), p("10.8.0.0/16"), p("0.0.0.0/0"),
			[]netip.Prefix{p("0.0.0.0/8"), p("10.9.0.0/24"), p("10.9.1.0/30"), p("255.255.255.255/32")}},
		"IPv6": {a("2001:db8::10"), a("2001:db8::11"), a("fd09:2::1"), a("fd09:1::2"), a("fd09:1::1"),
			[]netip.Addr{a("fd09:2::11"), a("fd09:2::12"), a("fd09:2::13")}, p("fd09:1::/64"), p("fd08::/16"), p("::/0"),
			[]netip.Prefix{p("::/8"), p("fd09:0:ffff::/48"), p("fd09:1::/126"), p("ffff::/16")}},
	}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{client: nettest.New(t), gateway: nettest.New(t), backends: nettest.New(t)}
	w.gateway.Run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding")
	w.gateway.Connect("front", w.client, "eth0")
	w.gateway.Connect("back", w.backends, "eth0")
	w.client.Address("eth0", "10.9.1.2/24", "fd09:1::2/64")
	w.gateway.Address("front", "10.9.1.1/24", "fd09:1::1/64", "192.0.2.10/32", "192.0.2.11/32", "2001:db8::10/128",
		"2001:db8::11/128")
	w.gateway.Address("back", "10.9.2.1/24", "fd09:2::1/64")
	w.backends.Address("eth0", "10.9.2.11/24", "10.9.2.12/24", "10.9.2.13/24", "fd09:2::11/64", "fd09:2::12/64",
		"fd09:2::13/64")
	for _, n := range []*nettest.Namespace{w.client, w.backends} {
		via := map[*nettest.Namespace]string{w.client: "1", w.backends: "2"}[n]
		n.Run("ip", "route", "add", "default", "via", "10.9."+via+".1")
		n.Run("ip", "-6", "route", "add", "default", "via", "fd09:"+via+"::1")
	}
	w.kernel = table.Open(w.gateway.FD)
	return w
}

func (w *world) apply(t testing.TB, tables *want.Tables) table.Applied {
	t.Helper()
	done, err := w.kernel.Apply(tables)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (a *addresses) key() types.NamespacedName {
	return types.NamespacedName{Namespace: "edge", Name: "mux"}
}

// carried is the mux's address with the source address that backends see.
func (a *addresses) carried(source netip.Addr) want.Address {
	return want.Address{Address: a.mux, Mux: a.key(), Source: source}
}

// service is a service of the mux with all backends on a port.
func (a *addresses) service(first, last, target uint16) want.Service {
	s := want.Service{Address: a.mux, Mux: a.key(), Protocol: corev1.ProtocolTCP, First: first, Last: last}
	for _, b := range a.backends {
		s.Slots = append(s.Slots, want.Backend{Address: b, Port: target})
	}
	return s
}

func isRefused(err error) bool {
	return err != nil && strings.Contains(err.Error(), "connection refused")
}
