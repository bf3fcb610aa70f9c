package balancer_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/net/ipv4"

	"nowake.ai/svc-lb-mux/balancer/announce"
	"nowake.ai/svc-lb-mux/balancer/vrrp"
)

// forge sends an advert from the client's machine, which isn't a gateway, for the mux's seat.
func (s *segment) forge(interval time.Duration) {
	s.t.Helper()
	source, group := netip.MustParseAddr("10.9.1.9"), netip.MustParseAddr("224.0.0.18")
	advert := vrrp.Advert{RouterID: 7, Priority: 255, Interval: interval}
	advert.Addresses = []netip.Addr{announce.SeatAddress("lb/p", 7, false)}
	message, err := advert.Append(nil, source, group)
	if err != nil {
		s.t.Fatal(err)
	}
	err = s.client.Inside(func() error {
		conn, err := net.ListenPacket("ip4:112", source.String())
		if err != nil {
			return err
		}
		defer conn.Close()
		raw, err := ipv4.NewRawConn(conn)
		if err != nil {
			return err
		}
		device, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		if err := raw.SetMulticastInterface(device); err != nil {
			return err
		}
		header := &ipv4.Header{Version: ipv4.Version, Len: ipv4.HeaderLen, TotalLen: ipv4.HeaderLen + len(message), TTL: 255,
			Protocol: 112, Src: source.AsSlice(), Dst: group.AsSlice()}
		return raw.WriteTo(header, message, nil)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// A neighbour on the segment sends one advert with the highest priority and the longest interval, 40.95 s. All gateways
// would wait three such intervals for the next advert, which never comes.
func TestForgedAdvertStopsNoSeatForLong(t *testing.T) {
	for name, order := range map[string][]string{"two gateways": {"a", "b"}, "a lone gateway": {"a"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSegment(t)
			a, b := start(t, s.a, s.config("a")), start(t, s.b, s.config("b"))
			a.post(news(order...))
			b.post(news(order...))
			eventually(t, "gateway a alone holds the seat", func() bool { return holds(s.a) && isFree(s.b) })
			s.awaitAnswers()
			s.forge(40950 * time.Millisecond)
			forged := time.Now()
			eventually(t, "the forged advert is believed", func() bool { return !holds(s.a) })
			eventually(t, "a gateway holds the seat", func() bool { return holds(s.a) || holds(s.b) })
			s.awaitAnswers()
			t.Logf("all four services answered %s after the forged advert", time.Since(forged).Round(time.Millisecond))
		})
	}
}
