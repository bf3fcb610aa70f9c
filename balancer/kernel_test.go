package balancer_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/test/nettest"
)

// alone starts gateway a as the only gateway of the seat.
func (s *segment) alone(c childConfig) *child {
	s.t.Helper()
	a := start(s.t, s.a, c)
	a.post(news("a"))
	eventually(s.t, "gateway a holds the seat", func() bool { return holds(s.a) && isProgrammed(a) })
	s.awaitAnswers()
	return a
}

func TestWhatOthersFlushIsRestored(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.alone(s.config("a"))
	before := listed(s.a)
	for _, mischief := range [][]string{
		{"nft", "flush", "ruleset"},
		{"nft", "delete", "table", "ip6", "svc-lb-mux"},
		{"nft", "flush", "map", "ip", "svc-lb-mux", "slots"},
		{"nft", "insert", "rule", "ip", "svc-lb-mux", "guard", "accept"},
		{"ip", "address", "flush", "dev", "front", "to", "10.9.1.100/32"},
	} {
		s.a.Run(mischief...)
		took := eventually(t, "the tables and addresses are as before", func() bool {
			return holds(s.a) && maybeListed(s.a) == before
		})
		t.Logf("%s: restored after %s", strings.Join(mischief, " "), took.Round(time.Millisecond))
		s.awaitAnswers()
	}
}

// maybeListed is like listed, but a table may be missing.
func maybeListed(n *nettest.Namespace) string {
	return n.Run("sh", "-c", "for f in ip ip6; do nft --stateless list table $f svc-lb-mux 2>/dev/null; done; true")
}

// A foreign process that writes all the time, as kube-proxy may, must not keep the agent from restoring our tables.
func TestFlushAmongForeignTransactionsIsRestored(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.alone(s.config("a"))
	before := listed(s.a)
	s.a.Run("sh", "-c", "nft add table ip foreign; for i in 1 2 3 4 5; do nft add chain ip foreign c$i; sleep 0.1; "+
		"done; nft flush set ip svc-lb-mux addresses; nft add chain ip foreign d")
	eventually(t, "the tables are as before", func() bool { return maybeListed(s.a) == before })
}

func TestRestartWithoutAnAPIServerKeepsTablesAndTraffic(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	config := s.config("a")
	a := s.alone(config)
	before := listed(s.a)
	for _, reboot := range []bool{false, true} {
		a.end(syscall.SIGKILL)
		if err := s.answers(); err != nil {
			t.Errorf("while the agent is dead: %v", err)
		}
		if reboot {
			s.a.Run("nft", "flush", "ruleset")
			s.a.Run("ip", "address", "flush", "dev", "front", "to", "10.9.1.100/32")
			s.a.Run("ip", "-6", "address", "del", "fd09:1::100/128", "dev", "front")
		}
		a = start(t, s.a, config) // without news
		eventually(t, "gateway a holds the seat", func() bool { return holds(s.a) && maybeListed(s.a) == before })
		s.awaitAnswers()
		a.post(&newsText{Missing: true})
		empty := news("a")
		empty.Muxes, empty.Slices = nil, nil
		a.post(empty)
		time.Sleep(300 * time.Millisecond)
		if after := listed(s.a); after != before {
			t.Errorf("empty lists changed the tables, reboot %t:\n%s", reboot, after)
		}
		if err := s.answers(); err != nil {
			t.Errorf("after empty lists, reboot %t: %v", reboot, err)
		}
	}
}

func TestBrokenStateOnDiskIsIgnored(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	config := s.config("a")
	a := s.alone(config)
	before := listed(s.a)
	a.end(syscall.SIGKILL)
	path := filepath.Join(config.State, "state")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	a = start(t, s.a, config)
	time.Sleep(3 * time.Second) // longer than a start waits for news
	if after := listed(s.a); after != before || s.answers() != nil {
		t.Errorf("without news and state, the tables changed:\n%s", after)
	}
	a.post(news("a"))
	eventually(t, "the mux is programmed", func() bool { return isProgrammed(a) })
	s.awaitAnswers()
}

func TestKilledAgentLeavesOnlyTheDifferenceToWrite(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	config := s.config("a")
	a := s.alone(config)
	handles := s.a.Run("nft", "--handle", "list", "chain", "ip", "svc-lb-mux", "dispatch")
	a.end(syscall.SIGKILL)
	a = start(t, s.a, config)
	more := news("a")
	more.Slices = append(more.Slices[:0], sliceOf("IPv4", []string{"10.9.2.12"}), sliceOf("IPv6", []string{"fd09:2::12"}))
	a.post(more)
	eventually(t, "only one backend is left", func() bool { return !strings.Contains(listed(s.a), "10.9.2.11") })
	if after := s.a.Run("nft", "--handle", "list", "chain", "ip", "svc-lb-mux", "dispatch"); after != handles {
		t.Errorf("the rules were written again:\n%s\n%s", handles, after)
	}
}

func TestBackendsAndTheMachineItselfReachTheMux(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.alone(s.config("a"))
	s.backends.Run("ip", "route", "add", "10.9.1.0/24", "via", "10.9.2.1")
	s.backends.Run("ip", "-6", "route", "add", "fd09:1::/64", "via", "fd09:2::1")
	for name, from := range map[string]*nettest.Namespace{"a backend": s.backends, "the gateway": s.a,
		"a client": s.client} {
		for _, address := range muxAddresses() {
			hit := map[string]bool{}
			for range 20 {
				server, _, err := from.Ask(address, 80)
				if err != nil {
					t.Fatalf("from %s to %s: %v", name, address, err)
				}
				hit[server] = true
			}
			if len(hit) != 2 {
				t.Errorf("from %s to %s: reached %v", name, address, hit)
			}
		}
	}
}

func TestNothingElseAnswersOnAHeldAddress(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.a.Serve(22)
	s.a.Run("nft", "table inet kube-proxy { chain nodeports { type nat hook prerouting priority -100; "+
		"tcp dport 30080 meta nfproto ipv4 dnat ip to 10.9.2.11:8080; tcp dport 30080 meta nfproto ipv6 dnat ip6 to "+
		"[fd09:2::11]:8080; }; }")
	s.backends.Run("ip", "route", "add", "10.9.1.0/24", "via", "10.9.2.1")
	s.backends.Run("ip", "-6", "route", "add", "fd09:1::/64", "via", "fd09:2::1")
	s.alone(s.config("a"))
	for _, port := range []int{22, 30080} {
		for _, own := range []string{"10.9.1.1", "fd09:1::1"} {
			if _, _, err := s.client.Ask(netip.MustParseAddr(own), port); err != nil {
				t.Errorf("port %d of the gateway's own address %s: %v", port, own, err)
			}
		}
		for _, address := range muxAddresses() {
			if server, _, err := s.client.Ask(address, port); err == nil {
				t.Errorf("port %d of the mux's address %s is answered by %s", port, address, server)
			}
		}
	}
}

// If the gateway guarded the machine's own address, because a pool has it, the machine would be cut off.
func TestAddressOfTheMachineIsNotCarried(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.a.Serve(22)
	s.a.Address("front", "10.9.1.100/32")
	a := start(t, s.a, s.config("a"))
	a.post(news("a"))
	eventually(t, "the agent reports the refusal", func() bool {
		mux, _ := a.reported().Find("web")
		return len(mux.Refused) > 0 && mux.Refused[0].Reason == string(want.MachineAddress) && len(mux.Programmed) == 1
	})
	if _, _, err := s.client.Ask(mux4(), 22); err != nil {
		t.Errorf("the machine's own service: %v", err)
	}
	if _, _, err := s.client.Ask(mux6(), 80); err != nil {
		t.Errorf("the mux's other address: %v", err)
	}
}

// If the agent didn't end the flow, a UDP client that goes on sending from one port would never leave a backend that is
// gone.
func TestUDPFlowsLeaveABackendThatIsGone(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	a := s.alone(s.config("a"))
	for _, address := range muxAddresses() {
		talk := s.client.TalkUDP(address, 53)
		first := talk()
		if first == "" || first != talk() {
			t.Fatalf("%s: the flow has no constant backend: %q", address, first)
		}
		rest := news("a")
		for i := range rest.Slices {
			endpoints := rest.Slices[i].Endpoints
			rest.Slices[i].Endpoints = slices.DeleteFunc(endpoints, func(e discoveryv1.Endpoint) bool {
				return strings.Contains(first, e.Addresses[0])
			})
		}
		a.post(rest)
		eventually(t, "the flow has the other backend", func() bool { next := talk(); return next != "" && next != first })
		a.post(news("a"))
		time.Sleep(200 * time.Millisecond)
	}
}

// The backends keep their addresses, and only the target port changes.
func TestUDPFlowsLeaveAPortThatIsGone(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	for _, server := range []string{"10.9.2.11", "10.9.2.12", "fd09:2::11", "fd09:2::12"} {
		s.backends.ServeUDP(netip.MustParseAddr(server), 5454)
	}
	a := s.alone(s.config("a"))
	talks := []func() string{s.client.TalkUDP(mux4(), 53), s.client.TalkUDP(mux6(), 53)}
	for _, talk := range talks {
		if first := talk(); !strings.HasSuffix(first, ":5353") {
			t.Fatalf("the flow goes to %q", first)
		}
	}
	changed, port := news("a"), int32(5454)
	for _, slice := range changed.Slices {
		slice.Ports[1].Port = &port
	}
	a.post(changed)
	for _, talk := range talks {
		eventually(t, "the flow has the new port", func() bool { return strings.HasSuffix(talk(), ":5454") })
	}
}
