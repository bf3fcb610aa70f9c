package table_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// A set whose keys have several fields that are ranges costs the square of its elements, and tenants choose how many
// there are: a transaction of 30,000 took 20 s, in which no other process of the machine could change its tables.
func TestNoSetCostsTheSquareOfItsElements(t *testing.T) {
	w := newWorld(t)
	w.apply(t, everything())
	listed := w.gateway.Run("nft", "list", "ruleset")
	for _, set := range regexp.MustCompile(`(?:set|map) (\S+) {\n\s+type ([^\n:]+ \. [^\n]+)\n\s+flags interval`).
		FindAllStringSubmatch(listed, -1) {
		t.Errorf("set %s has ranges in several fields: %s", set[1], set[2])
	}
}

// networks are different networks without the client, none beside another.
func networks(a addresses, n int) []netip.Prefix {
	var all []netip.Prefix
	for i := range n {
		bytes := a.far.Addr().AsSlice()
		bytes[2], bytes[3] = byte(i/100), byte(i%100*2)
		address, _ := netip.AddrFromSlice(bytes)
		all = append(all, netip.PrefixFrom(address, map[bool]int{true: 31, false: 32}[address.Is4()]))
	}
	return all
}

func TestPortsWithEqualSourceRangesShareThem(t *testing.T) {
	const ports, ranges = 300, 256
	w := newWorld(t)
	w.backends.Serve(8080)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			tables := &want.Tables{Addresses: []want.Address{a.carried(a.own)}}
			for i := range uint16(ports) {
				s := a.service(1000+i, 1000+i, 8080)
				s.Sources = append(networks(a, ranges-1), a.nearby)
				tables.Services = append(tables.Services, s)
			}
			// An address, the networks, and for each port itself, its traffic, its list and three slots.
			if done := w.apply(t, tables); done.Added > 2+ranges+ports*6 {
				t.Errorf("wrote %d elements for %d ports with %d networks", done.Added, ports, ranges)
			}
			// One port gets other networks. The others keep the list.
			tables.Services[7].Sources = networks(a, 3)
			w.apply(t, tables)
			for port, answers := range map[int]bool{1000: true, 1007: false, 1008: true} {
				if _, _, err := w.client.Ask(a.mux, port); (err == nil) != answers {
					t.Errorf("port %d: %v", port, err)
				}
			}
			tables.Services = tables.Services[7:8]
			w.apply(t, tables)
			listed := w.gateway.Run("nft", "list", "set", a.nft(), "svc-lb-mux", "networks")
			if left := regexp.MustCompile(`[0-9a-f]{2}-[0-9a-f]{2}`).FindAllString(listed, -1); len(left) != 3 {
				t.Errorf("%d networks, want 3:\n%s", len(left), listed)
			}
		})
	}
}

// nft is the name of a family's tables.
func (a *addresses) nft() string {
	if a.mux.Is6() {
		return "ip6"
	}
	return "ip"
}

// Networks may touch each other, and the ends of all addresses.
func TestNetworksEndWhereTheyEnd(t *testing.T) {
	w := newWorld(t)
	w.backends.Serve(8080)
	w.manyClients()
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			base := clientNumber(a.mux, 15)
			s := a.service(80, 80, 8080)
			s.Sources = append(a.edges, netip.PrefixFrom(base, base.BitLen()),
				netip.PrefixFrom(clientNumber(a.mux, 16), base.BitLen()))
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{s}})
			for i, answers := range map[int]bool{14: false, 15: true, 16: true, 17: false} {
				conn, err := w.dialFrom(netip.AddrPortFrom(clientNumber(a.mux, i), 0), netip.AddrPortFrom(a.mux, 80))
				if err == nil {
					conn.Close()
				}
				if (err == nil) != answers {
					t.Errorf("client %s: %v", clientNumber(a.mux, i), err)
				}
			}
		})
	}
}

// With the return path routed, packets from a backend's address and port count as replies. A tenant can make an
// endpoint with the address and port of somebody else's client.
func TestAnEndpointWithAClientsAddressDoesNotShutTheClientOut(t *testing.T) {
	const connections = 20
	w := newWorld(t)
	w.backends.Serve(8080)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			forged := a.service(666, 666, 1)
			forged.Slots = nil
			for i := range uint16(connections) {
				forged.Slots = append(forged.Slots, want.Backend{Address: a.client, Port: 40000 + i})
			}
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.mux)},
				Services: []want.Service{a.service(80, 80, 8080), forged}})
			answered := 0
			for i := range uint16(connections) {
				conn, err := w.dialFrom(netip.AddrPortFrom(a.client, 40000+i), netip.AddrPortFrom(a.mux, 80))
				if err == nil {
					answered++
					conn.Close()
				}
			}
			if answered != connections {
				t.Errorf("%d of %d connections", answered, connections)
			}
		})
	}
}

// Tenants choose how many backends their ports have, and each number has a chain.
func TestChainsThatNoServiceNeedsGo(t *testing.T) {
	w := newWorld(t)
	a := families()["IPv4"]
	chains := func() string {
		return fmt.Sprint(regexp.MustCompile(`\bn[0-9]\S*`).FindAllString(w.gateway.Run("nft", "list", "chains", "ip"), -1))
	}
	filtered := a.service(81, 81, 8080)
	filtered.Sources = []netip.Prefix{a.nearby}
	tables := &want.Tables{Addresses: []want.Address{a.carried(a.own)},
		Services: []want.Service{a.service(80, 80, 8080), filtered,
			a.service(82, 82, 8080), a.service(83, 83, 8080)}}
	step := func(expected string) {
		t.Helper()
		w.apply(t, tables)
		if got := chains(); got != expected {
			t.Errorf("got %s, want %s", got, expected)
		}
	}
	step("[n3 n3-from]")
	tables.Services[1].Slots = tables.Services[1].Slots[:2]
	step("[n3 n2 n2-from]")
	tables.Services[1].Slots, tables.Services[1].Sources = tables.Services[1].Slots[:1], nil
	step("[n3 n1]")
	tables.Services[1].Protocol, tables.Services[1].Slots = corev1.ProtocolUDP, a.service(1, 1, 9).Slots
	w.kernel = table.Open(w.gateway.FD) // a restart removes what an earlier process left
	step("[n3]")
	tables.Services = nil
	step("[]")
}
