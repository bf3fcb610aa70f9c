package agent_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"nowake.ai/svc-lb-mux/gateway/agent/nettest"
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
