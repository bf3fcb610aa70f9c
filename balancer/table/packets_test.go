package table_test

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/table"
	"nowake.ai/svc-lb-mux/balancer/want"
)

func TestConnectionsReachEveryBackendOnEveryReturnPath(t *testing.T) {
	w := newWorld(t)
	w.backends.Serve(8080)
	for name, a := range families() {
		for path, source := range map[string]netip.Addr{"node": unspecified(a.mux), "one address": a.own, "routed": a.mux,
			"gateway": {}} {
			t.Run(name+" "+path, func(t *testing.T) {
				w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(source)},
					Services: []want.Service{a.service(80, 80, 8080)}})
				seen := source
				switch {
				case !source.IsValid():
					seen = a.client
				case source.IsUnspecified():
					seen = a.own
				}
				hit := map[string]bool{}
				for range 40 {
					server, client, err := w.client.Ask(a.mux, 80)
					if err != nil {
						t.Fatal(err)
					}
					if client != seen.String() {
						t.Fatalf("the backend saw %s, want %s", client, seen)
					}
					hit[server] = true
				}
				if len(hit) != len(a.backends) {
					t.Errorf("reached %v, want all of %v", hit, a.backends)
				}
			})
		}
	}
}

func TestNothingElseAnswersOnAMuxAddress(t *testing.T) {
	w := newWorld(t)
	w.gateway.Serve(22)
	w.backends.Serve(8080)
	w.gateway.Run("nft", "table inet kube-proxy { chain nodeports { type nat hook prerouting priority -100; "+
		"tcp dport 30080 meta nfproto ipv4 dnat ip to 10.9.2.11:8080; "+
		"tcp dport 30080 meta nfproto ipv6 dnat ip6 to [fd09:2::11]:8080; }; }")
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)},
				Services: []want.Service{a.service(80, 80, 8080)}})
			for _, port := range []int{22, 30080} {
				if _, _, err := w.client.Ask(a.front, port); err != nil {
					t.Errorf("port %d of the gateway's own address: %v", port, err)
				}
				if server, _, err := w.client.Ask(a.mux, port); !isRefused(err) {
					t.Errorf("port %d of the mux's address answers from %q: %v", port, server, err)
				}
				if server, _, err := w.gateway.Ask(a.mux, port); !isRefused(err) {
					t.Errorf("port %d of the mux's address answers on the machine itself, from %q: %v", port, server, err)
				}
			}
			if _, _, err := w.gateway.Ask(a.mux, 80); err != nil {
				t.Errorf("the machine itself can't reach the service: %v", err)
			}
		})
	}
}

// The first packet of a flow meets the chain that translates. Later ones meet only the guard: a flow may be older than
// the mux's address.
func TestUDPOfTheMachineDoesNotAnswerOnAMuxAddress(t *testing.T) {
	w := newWorld(t)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			w.gateway.ServeUDP(a.mux, 5353)
			w.apply(t, &want.Tables{}) // the kernel tracks flows once there are tables
			before := w.client.TalkUDP(a.mux, 5353)
			if before() == "" {
				t.Fatal("the machine doesn't answer on its address")
			}
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)},
				Services: []want.Service{a.service(80, 80, 8080)}})
			if server := before(); server != "" {
				t.Errorf("a flow of before is answered by %q", server)
			}
			if server, _, err := w.client.AskUDPWithin(300*time.Millisecond, a.mux, 5353); err == nil {
				t.Errorf("a new flow is answered by %q", server)
			}
		})
	}
}

func TestRangesShiftToTheTargetPorts(t *testing.T) {
	w := newWorld(t)
	for _, port := range []int{1, 5000, 9999, 12000, 30000, 30999, 40000, 65535} {
		w.backends.Serve(port)
	}
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			for _, at := range []struct{ first, last, target, asked, port int }{
				{10000, 19999, 10000, 12000, 12000},
				{10000, 19999, 30000, 10000, 30000},
				{10000, 10999, 30000, 10999, 30999},
				{20000, 50000, 5000, 20000, 5000},
				{20000, 50000, 5000, 45000, 30000},
				{40000, 40001, 1, 40000, 1},
				{10001, 19999, 40001, 10000, 0},
				{30000, 65535, 30000, 65535, 65535},
			} {
				s := a.service(uint16(at.first), uint16(at.last), uint16(at.target))
				w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{s}})
				server, _, err := w.client.Ask(a.mux, at.asked)
				switch {
				case at.port == 0 && !isRefused(err):
					t.Errorf("%+v: a number outside of the range answers from %q: %v", at, server, err)
				case at.port != 0 && (err != nil || netip.MustParseAddrPort(server).Port() != uint16(at.port)):
					t.Errorf("%+v: got %q, %v", at, server, err)
				}
			}
		})
	}
}

func TestOnlyListedSourcesConnect(t *testing.T) {
	w := newWorld(t)
	w.backends.Serve(8080)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			for sources, answered := range map[netip.Prefix]bool{a.nearby: true, a.far: false, a.everyt: true} {
				single, several := a.service(80, 80, 8080), a.service(8000, 8100, 8000)
				single.Sources, several.Sources = []netip.Prefix{sources}, []netip.Prefix{sources}
				w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{single, several}})
				for _, port := range []int{80, 8080} {
					if _, _, err := w.client.Ask(a.mux, port); (err == nil) != answered || isRefused(err) {
						t.Errorf("port %d from %s, open to %s: %v", port, a.client, sources, err)
					}
				}
			}
		})
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	w := newWorld(t)
	w.backends.Serve(8080)
	if counts, err := table.Counts(w.gateway.FD); len(counts) > 0 || err != nil {
		t.Errorf("without tables there are %v, %v", counts, err)
	}
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			single, several := a.service(80, 80, 8080), a.service(8000, 8100, 8000)
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{single, several}})
			for port, times := range map[int]int{80: 3, 8080: 2, 81: 1} { // 81 is no port of the mux
				for range times {
					_, _, _ = w.client.Ask(a.mux, port)
				}
			}
			counts, err := table.Counts(w.gateway.FD)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(counts, func(a, b table.Count) int { return cmp.Compare(a.First, b.First) })
			for i := range counts {
				if counts[i].Packets < counts[i].Connections*3 || counts[i].Bytes < counts[i].Packets*20 {
					t.Errorf("not all packets are counted: %v", counts[i])
				}
				counts[i].Packets, counts[i].Bytes = 0, 0
			}
			want := []table.Count{
				{Service: table.Service{Address: a.mux, Protocol: corev1.ProtocolTCP, First: 80, Last: 80}, Connections: 3},
				{Service: table.Service{Address: a.mux, Protocol: corev1.ProtocolTCP, First: 8000, Last: 8100}, Connections: 2},
			}
			if !slices.Equal(counts, want) {
				t.Errorf("got %v, want %v", counts, want)
			}
		})
	}
}

// One flow has many packets. Requests of the machine itself count, and traffic to the machine's own address doesn't.
func TestPacketsAndBytesAreCountedInBothDirections(t *testing.T) {
	w := newWorld(t)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			for _, backend := range a.backends {
				w.backends.ServeUDP(backend, 5353)
			}
			w.gateway.ServeUDP(a.front, 53)
			dns, several := a.service(53, 53, 5353), a.service(5350, 5360, 5350)
			dns.Protocol, several.Protocol = corev1.ProtocolUDP, corev1.ProtocolUDP
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{dns, several}})
			header := uint64(28)
			if a.mux.Is6() {
				header = 48
			}
			for _, port := range []int{53, 5353} {
				talk := w.client.TalkUDP(a.mux, port)
				for range 5 {
					if talk() == "" {
						t.Fatal("no answer")
					}
				}
				if _, _, err := w.gateway.AskUDP(a.mux, port); err != nil {
					t.Fatalf("the machine itself: %v", err)
				}
			}
			_, _, _ = w.client.AskUDP(a.front, 53)
			counts, err := table.Counts(w.gateway.FD)
			if err != nil || len(counts) != 2 {
				t.Fatalf("%v, %v", counts, err)
			}
			for _, count := range counts {
				// 6 requests of one byte, and 6 answers with two addresses
				if count.Connections != 2 || count.Packets != 12 || count.Bytes < 12*header+6+6*10 ||
					count.Bytes > 12*header+6+6*100 {
					t.Errorf("got %+v", count)
				}
			}
		})
	}
}

func TestStickyServiceKeepsAClientOnOneBackend(t *testing.T) {
	w := newWorld(t)
	w.backends.Serve(8080)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			s := a.service(80, 80, 8080)
			s.Sticky = true
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{s}})
			hit := map[string]bool{}
			for range 20 {
				server, _, err := w.client.Ask(a.mux, 80)
				if err != nil {
					t.Fatal(err)
				}
				hit[server] = true
			}
			if len(hit) != 1 {
				t.Errorf("one client reached %v", hit)
			}
		})
	}
}

// Every gateway must choose the same backend for a client, or a failover breaks connections.
func TestTwoGatewaysChooseTheSameBackend(t *testing.T) {
	first, second := newWorld(t), newWorld(t)
	first.backends.Serve(8080)
	second.backends.Serve(8080)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			var chosen [2][]string
			for i, w := range []*world{first, second} {
				w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.mux)},
					Services: []want.Service{a.service(80, 80, 8080)}})
				for source := range 20 {
					server, _, err := w.client.AskFrom(5000+source, a.mux, 80)
					if err != nil {
						t.Fatal(err)
					}
					chosen[i] = append(chosen[i], server)
				}
			}
			if one, two := strings.Join(chosen[0], " "), strings.Join(chosen[1], " "); one != two {
				t.Errorf("the first chose %s\nthe second %s", one, two)
			}
		})
	}
}

// A backend with several slots gets as many shares of the connections.
func TestBackendsWithMoreSlotsGetMoreConnections(t *testing.T) {
	w := newWorld(t)
	w.backends.Serve(8080)
	for name, a := range families() {
		t.Run(name, func(t *testing.T) {
			s := a.service(80, 80, 8080)
			one, other := s.Slots[0], s.Slots[1]
			s.Slots = slices.Concat(slices.Repeat([]want.Backend{one}, 8), slices.Repeat([]want.Backend{other}, 2))
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{s}})
			hit := map[string]int{}
			for range 200 {
				server, _, err := w.client.Ask(a.mux, 80)
				if err != nil {
					t.Fatal(err)
				}
				hit[server]++
			}
			first := netip.AddrPortFrom(one.Address, 8080).String()
			if len(hit) != 2 || hit[first] < 120 || hit[first] > 190 {
				t.Errorf("of 200 connections these came: %v", hit)
			}
			s.Slots = s.Slots[8:] // only the other backend is left
			w.apply(t, &want.Tables{Addresses: []want.Address{a.carried(a.own)}, Services: []want.Service{s}})
			if server, _, err := w.client.Ask(a.mux, 80); err != nil || server == first {
				t.Errorf("%s answers: %v", server, err)
			}
		})
	}
}
