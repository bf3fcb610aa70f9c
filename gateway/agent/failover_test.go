package agent_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/gateway/agent/nettest"
	"nowake.ai/svc-lb-mux/gateway/agent/want"
)

// pair starts both gateways, and returns once gateway a, the preferred one, holds the seat.
func (s *segment) pair(change func(*childConfig)) (a, b *child) {
	s.t.Helper()
	first, second := s.config("a"), s.config("b")
	for _, c := range []*childConfig{&first, &second} {
		if change != nil {
			change(c)
		}
	}
	a, b = start(s.t, s.a, first), start(s.t, s.b, second)
	a.post(news("a", "b"))
	b.post(news("a", "b"))
	eventually(s.t, "gateway a alone holds the seat", func() bool { return holds(s.a) && isFree(s.b) })
	eventually(s.t, "both report the mux as programmed", func() bool { return isProgrammed(a) && isProgrammed(b) })
	return a, b
}

func TestSeatMovesWhenItsHolderDiesAndReturnsWhenItHeals(t *testing.T) {
	for name, change := range map[string]func(*childConfig){"multicast": nil, "unicast": func(c *childConfig) { c.Unicast = true }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSegment(t)
			a, b := s.pair(change)
			s.awaitAnswers()
			dead := time.Now()
			a.end(syscall.SIGKILL)
			s.front.Run("ip", "link", "set", "to-a", "down")
			taken := eventually(t, "gateway b holds the seat", func() bool { return holds(s.b) })
			s.awaitAnswers()
			t.Logf("%s: the agent was killed and its link cut: address taken after %s, all four services answered after %s", name,
				taken.Round(time.Millisecond), time.Since(dead).Round(time.Millisecond))
			eventually(t, "the dead gateway's kernel gave the addresses up", func() bool { return isFree(s.a) })
			if len(b.reported().Holds) != 1 {
				t.Errorf("gateway b reports %+v", b.reported())
			}
			s.front.Run("ip", "link", "set", "to-a", "up")
			config := s.config("a")
			if change != nil {
				change(&config)
			}
			again := start(t, s.a, config)
			again.post(news("a", "b"))
			back := eventually(t, "gateway a alone holds the seat again", func() bool { return holds(s.a) && isFree(s.b) })
			s.awaitAnswers()
			t.Logf("%s: after the return, one holder after %s", name, back.Round(time.Millisecond))
		})
	}
}

func TestAfterAPartitionOneGatewayHoldsTheSeat(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.pair(nil)
	// The bridge doesn't pass the packets of gateway b on. Its link stays up, so it sees no fault.
	s.front.Run("nft", "table bridge cut { chain c { type filter hook forward priority 0; iifname to-b drop; oifname to-b drop; }; }")
	eventually(t, "both gateways hold the seat", func() bool { return holds(s.a) && holds(s.b) })
	s.awaitAnswers()
	s.front.Run("nft", "delete", "table", "bridge", "cut")
	healed := eventually(t, "gateway a alone holds the seat", func() bool { return holds(s.a) && isFree(s.b) })
	s.awaitAnswers()
	t.Logf("one holder %s after the partition", healed.Round(time.Millisecond))
}

func TestLostLinkMovesTheSeat(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.pair(nil)
	s.awaitAnswers()
	s.front.Run("ip", "link", "set", "to-a", "down")
	taken := eventually(t, "gateway b holds the seat", func() bool { return holds(s.b) })
	s.awaitAnswers()
	eventually(t, "gateway a, which runs without a link, holds nothing", func() bool { return isFree(s.a) })
	s.front.Run("ip", "link", "set", "to-a", "up")
	back := eventually(t, "gateway a alone holds the seat", func() bool { return holds(s.a) && isFree(s.b) })
	s.awaitAnswers()
	t.Logf("taken after %s, back after %s", taken.Round(time.Millisecond), back.Round(time.Millisecond))
}

func TestPlannedEndHandsTheSeatOverAndLeavesTheTables(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	a, _ := s.pair(nil)
	s.awaitAnswers()
	before := listed(s.a)
	stop := time.Now()
	_ = a.command.Process.Signal(syscall.SIGTERM)
	eventually(t, "gateway b alone holds the seat", func() bool { return holds(s.b) && isFree(s.a) })
	t.Logf("handed over after %s", time.Since(stop).Round(time.Millisecond))
	s.awaitAnswers()
	<-a.ended
	if after := listed(s.a); after != before || !strings.Contains(after, "svc-lb-mux") {
		t.Errorf("the tables didn't stay for the next version:\n%s", after)
	}
}

// listed lists our tables without counters.
func listed(n *nettest.Namespace) string {
	return n.Run("sh", "-c", "for f in ip ip6; do nft --stateless list table $f svc-lb-mux; done")
}

// With the return path routed, any gateway goes on with a connection that another one began: both choose the same backend, and both
// show it the same source address.
func TestConnectionsLiveOnAfterAFailover(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	for _, gateway := range []*nettest.Namespace{s.a, s.b} {
		gateway.Run("sh", "-c", "for f in all front back; do echo 0 > /proc/sys/net/ipv4/conf/$f/rp_filter; done")
	}
	// The route to the mux's addresses goes to the holder of the seat. Here the test moves it, in a real network a routing protocol.
	route := func(to string) {
		s.backends.Run("ip", "route", "replace", "10.9.1.100/32", "via", "10.9.2."+to)
		s.backends.Run("ip", "-6", "route", "replace", "fd09:1::100/128", "via", "fd09:2::"+to)
	}
	route("1")
	a, b := s.pair(func(c *childConfig) { c.ReturnPath, c.Source = want.ViaRouted, nil })
	echo := news("a", "b")
	for i := range echo.Slices {
		*echo.Slices[i].Ports[0].Port = 7777
	}
	s.backends.Echo(7777)
	a.post(echo)
	b.post(echo)
	for _, gateway := range []*nettest.Namespace{s.a, s.b} {
		eventually(t, "the tables lead to the echo", func() bool { return strings.Contains(maybeListed(gateway), "7777") })
	}
	var talks []func() bool
	for _, address := range muxAddresses() {
		for range 15 {
			talks = append(talks, s.client.Talk(address, 80))
		}
	}
	a.end(syscall.SIGKILL)
	s.front.Run("ip", "link", "set", "to-a", "down")
	route("2")
	eventually(t, "gateway b holds the seat", func() bool { return holds(s.b) })
	alive := 0
	for _, talk := range talks {
		if talk() {
			alive++
		}
	}
	t.Logf("%d of %d connections lived on", alive, len(talks))
	if alive != len(talks) {
		t.Errorf("%d connections broke", len(talks)-alive)
	}
}

// Without an IPv4 address on the interface, adverts go over IPv6.
func TestAdvertsOverIPv6(t *testing.T) {
	for name, unicast := range map[string]bool{"multicast": false, "unicast": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSegment(t)
			for _, gateway := range []*nettest.Namespace{s.a, s.b} {
				gateway.Run("ip", "-4", "address", "flush", "dev", "front")
			}
			a, _ := s.pair(func(c *childConfig) { c.Unicast = unicast })
			a.end(syscall.SIGTERM)
			eventually(t, "gateway b alone holds the seat", func() bool { return holds(s.b) && isFree(s.a) })
			eventually(t, "the mux answers", func() bool { _, _, err := s.client.Ask(mux6(), 80); return err == nil })
		})
	}
}
