package balancer_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/want"
	"nowake.ai/svc-lb-mux/test/nettest"
)

var failovers = flag.Int("failovers", 3, "how often a gateway dies in TestConnectionsLiveOnAfterFailovers")

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
	for name, change := range map[string]func(*childConfig){"multicast": nil,
		"unicast": func(c *childConfig) { c.Unicast = true }} {
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
			t.Logf("%s: the agent was killed and its link cut: address taken after %s, all four services answered after %s",
				name,
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

// Gateway a's firewall doesn't know a third gateway yet. Each advert to that one fails, and the adverts to gateway b
// don't.
func TestPeerBehindAFirewallDoesNotCostTheSeat(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.a.Run("nft", "table ip fw { chain c { type filter hook output priority 0; ip daddr 10.9.1.9 drop; }; }")
	a, b := s.pair(func(c *childConfig) { c.Unicast = true })
	n := news("a", "b", "c")
	n.Claims.ResourceVersion = "2"
	n.Claims.Data[claims.Key] = strings.Replace(n.Claims.Data[claims.Key], `"gateways":[`,
		`"gateways":[{"name":"c","addresses":["10.9.1.9"]},`, 1)
	a.post(n)
	b.post(n)
	eventually(t, "gateway a reports the peer", func() bool {
		return strings.Contains(fmt.Sprint(a.reported().Faults), "10.9.1.9")
	})
	// five adverts, and a refresh
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if isFree(s.a) {
			t.Fatal("gateway a gave up the seat")
		}
	}
}

func TestAfterAPartitionOneGatewayHoldsTheSeat(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.pair(nil)
	// The bridge doesn't pass the packets of gateway b on. Its link stays up, so gateway b sees no fault.
	s.front.Run("nft", "table bridge cut { chain c { type filter hook forward priority 0; iifname to-b drop; oifname "+
		"to-b drop; }; }")
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

// With the return path routed, any gateway goes on with a connection that another one began: both choose the same
// backend, and both show it the same source address. Each round kills gateway a, then takes a backend away, and then
// lets gateway a come back.
func TestConnectionsLiveOnAfterFailovers(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	for _, gateway := range []*nettest.Namespace{s.a, s.b} {
		gateway.Run("sh", "-c", "for f in all front back; do echo 0 > /proc/sys/net/ipv4/conf/$f/rp_filter; done")
	}
	s.route("1")
	routed := func(c *childConfig) { c.ReturnPath, c.Source = want.ViaRouted, nil }
	a, b := s.pair(routed)
	s.backends.Echo(7777)
	s.awaitAnswers()
	var outages []time.Duration
	for round := range *failovers {
		s.lead(echoes("11", "12"), a, b)
		talks := s.talks(15)
		outage := s.failOver(a)
		outages = append(outages, outage)
		alive := stillAlive(talks)
		t.Logf("round %d: no answer for %s; %d of %d connections lived on", round+1, outage.Round(time.Millisecond),
			len(alive), len(talks))
		if len(alive) != len(talks) {
			t.Errorf("round %d: %d connections broke", round+1, len(talks)-len(alive))
		}
		s.lead(echoes("11"), b)
		alive = stillAlive(alive)
		a = s.comeBack(routed, echoes("11"))
		after := stillAlive(alive)
		t.Logf("round %d: a backend went, and %d connections are left; gateway a came back, and %d of them live on", round+1,
			len(alive), len(after))
		if len(after) != len(alive) {
			t.Errorf("round %d: %d connections to a backend that stayed broke", round+1, len(alive)-len(after))
		}
	}
	slices.Sort(outages)
	t.Logf("%d failovers: no answer for %s in the median, %s at most", len(outages),
		outages[len(outages)/2].Round(time.Millisecond),
		outages[len(outages)-1].Round(time.Millisecond))
}

// route sends packets to the mux's addresses from the backends to a gateway. In a real network, a routing protocol does
// this.
func (s *segment) route(number string) {
	s.backends.Run("ip", "route", "replace", "10.9.1.100/32", "via", "10.9.2."+number)
	s.backends.Run("ip", "-6", "route", "replace", "fd09:1::100/128", "via", "fd09:2::"+number)
}

// echoes is news in which port 80 of the mux leads to these backends, which echo.
func echoes(hosts ...string) *newsText {
	n := news("a", "b")
	n.Slices = nil
	for family, network := range map[discoveryv1.AddressType]string{discoveryv1.AddressTypeIPv4: "10.9.2.",
		discoveryv1.AddressTypeIPv6: "fd09:2::"} {
		var addresses []string
		for _, host := range hosts {
			addresses = append(addresses, network+host)
		}
		slice := sliceOf(family, addresses)
		*slice.Ports[0].Port = 7777
		n.Slices = append(n.Slices, slice)
	}
	return n
}

// lead posts news to gateways, and waits until they lead to its backends.
func (s *segment) lead(n *newsText, gateways ...*child) {
	s.t.Helper()
	for _, k := range gateways {
		k.post(n)
		in := map[string]*nettest.Namespace{"a": s.a, "b": s.b}[k.name]
		eventually(s.t, "gateway "+k.name+" leads to the backends", func() bool {
			tables := maybeListed(in)
			return strings.Contains(tables, "7777") && strings.Contains(tables, "10.9.2.12") == (len(n.Slices[0].Endpoints) > 1)
		})
	}
}

// talks opens connections to each address of the mux.
func (s *segment) talks(each int) (talks []func() bool) {
	s.t.Helper()
	for _, address := range muxAddresses() {
		for range each {
			talks = append(talks, s.client.Talk(address, 80))
		}
	}
	return talks
}

func stillAlive(talks []func() bool) (alive []func() bool) {
	for _, talk := range talks {
		if talk() {
			alive = append(alive, talk)
		}
	}
	return alive
}

// failOver kills the agent of gateway a, cuts its machine off, and returns for how long datagrams to the mux got no
// answer.
func (s *segment) failOver(a *child) time.Duration {
	s.t.Helper()
	killed := time.Now()
	a.end(syscall.SIGKILL)
	s.front.Run("ip", "link", "set", "to-a", "down")
	s.route("2")
	eventually(s.t, "the mux answers", func() bool {
		_, _, err := s.client.AskUDPWithin(20*time.Millisecond, mux4(), 53)
		return err == nil
	})
	outage := time.Since(killed)
	eventually(s.t, "gateway b holds the seat", func() bool { return holds(s.b) })
	return outage
}

// comeBack starts gateway a again, and returns once it alone holds the seat.
func (s *segment) comeBack(change func(*childConfig), n *newsText) *child {
	s.t.Helper()
	eventually(s.t, "the dead gateway's kernel gave the addresses up", func() bool { return isFree(s.a) })
	s.front.Run("ip", "link", "set", "to-a", "up")
	config := s.config("a")
	change(&config)
	a := start(s.t, s.a, config)
	s.lead(n, a)
	eventually(s.t, "gateway a alone holds the seat again", func() bool { return holds(s.a) && isFree(s.b) })
	s.route("1")
	return a
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
