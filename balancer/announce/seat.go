package announce

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"time"

	"nowake.ai/svc-lb-mux/balancer/vrrp"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// seat is a seat of this gateway and its virtual router.
type seat struct {
	want.Seat
	router vrrp.Router
	// isTaken is true from the first advert of another gateway for a lone seat, until this gateway takes the seat. The
	// claims don't name the other gateway yet.
	isTaken bool
	// since is when the announcements began: when the router became active, when the addresses changed, or when another
	// holder gave way. hellos counts the announcements since then.
	since  time.Time
	hellos int
}

// holds is true if this gateway must answer for the seat's addresses.
func (s *seat) holds() bool {
	return s.router.State == vrrp.Active || isLone(&s.Seat) && !s.isTaken
}

// advert returns the router's advert. Its address is constant, because all routers of a seat must send the same
// addresses.
func (s *seat) advert(group string, six bool) *vrrp.Advert {
	return &vrrp.Advert{RouterID: s.RouterID, Priority: s.router.Priority, Interval: s.router.Interval,
		Addresses: []netip.Addr{SeatAddress(group, s.RouterID, six)}}
}

// SeatAddress returns the address that adverts of a seat carry: link-local, as version 3 demands for IPv6, and equal on
// all gateways of a group.
func SeatAddress(group string, routerID uint8, six bool) netip.Addr {
	sum := sha256.Sum256([]byte(group))
	if six {
		a := [16]byte{0xfe, 0x80, 8: sum[0], 9: sum[1], 10: sum[2], 11: sum[3], 12: sum[4], 13: sum[5], 14: protocolVRRP,
			15: routerID}
		return netip.AddrFrom16(a)
	}
	// The first and the last 256 addresses of 169.254.0.0/16 are reserved.
	return netip.AddrFrom4([4]byte{169, 254, 1 + sum[0]%254, routerID})
}

// nextHello returns when the addresses must be announced next; zero if the router isn't active, or if they were
// announced often enough.
func (s *seat) nextHello() time.Time {
	times := helloTimes()
	if s.router.State != vrrp.Active || s.hellos >= len(times) {
		return time.Time{}
	}
	return s.since.Add(times[s.hellos])
}

// announceAgain starts the announcements again.
func (s *seat) announceAgain(now time.Time) { s.since, s.hellos = now, 0 }

// destinations are where adverts go.
func (s *seat) destinations(unicast bool, source netip.Addr) []netip.Addr {
	if !unicast {
		return []netip.Addr{groupOf(source)}
	}
	return slices.DeleteFunc(slices.Clone(s.Peers), func(a netip.Addr) bool { return a.Is4() != source.Is4() })
}

// sooner returns the earlier of two times; the zero time stands for no time.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
