package announce

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"go.uber.org/zap"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// Mode is how a gateway gets the packets of its seats.
type Mode string

// The modes.
const (
	VRRP Mode = "vrrp" // the addresses are on the interface of the gateway that holds the seat
	None Mode = "none" // no address is put on an interface: routes of the network bring the packets
)

// Options configure an Announcer.
type Options struct {
	Interface string
	Mode      Mode
	// Unicast sends adverts to the other gateways' addresses instead of the multicast group.
	Unicast bool
	// Group identifies the gateways that share seats, such as namespace/pool.
	Group string
	// Interval counts while the claims name no intervals. Then the gateway sends adverts at least as often as by default,
	// and believes Interval. So gateways with different settings don't hold a seat at the same time.
	Interval time.Duration
	// Known are addresses that were put on the interface before a restart.
	Known []netip.Addr
	// Taken is called in a goroutine of its own after this gateway took a seat with these addresses. It may be nil.
	Taken func(addresses []netip.Addr)
	Log   *zap.SugaredLogger
}

// Status is what the announcer does now.
type Status struct {
	// Holds are the router IDs of the seats that this gateway holds, sorted.
	Holds []uint8
	// Faults are sorted.
	Faults []Fault
	// Adverts are the intervals in use. It is nil while they aren't known.
	Adverts *lease.Adverts
}

// Equal is true if both are the same.
func (s *Status) Equal(other *Status) bool {
	return slices.Equal(s.Holds, other.Holds) && slices.Equal(s.Faults, other.Faults) &&
		ptr.Equal(s.Adverts, other.Adverts)
}

// Intervals returns the intervals for a seat. The default is the interval of the settings.
func Intervals(s *want.Seat, setting time.Duration) claims.Adverts {
	if s.Adverts != (claims.Adverts{}) {
		return s.Adverts
	}
	setting = cmp.Or(setting, claims.DefaultInterval)
	return claims.Adverts{Interval: min(setting, claims.DefaultInterval), Believed: max(setting, claims.DefaultInterval)}
}

// Fault is something about the machine or its segment that must be put right.
type Fault struct{ Reason, Message string }

// The reasons of faults.
const (
	NoInterface  = "InterfaceMissing"    // the interface can't be used
	NoSocket     = "NoAdverts"           // adverts can't be sent or received
	NoAddress    = "AddressNotPut"       // the kernel refused an address
	NotAnnounced = "AddressNotAnnounced" // neighbours could not be told of an address
	ForeignGroup = "RouterIDShared"      // another cluster uses the router ID on this segment
	UnknownPeer  = "PeerUnknown"         // the claims don't name the sender of an advert
)

const (
	refreshEvery = 800 * time.Millisecond
	lifetime     = 5 * time.Second
)

// helloTimes are how long after it took a seat a gateway announces the addresses. Once isn't enough: Linux ignores a
// second change of a neighbour's entry within a second.
func helloTimes() []time.Duration {
	return []time.Duration{0, 200 * time.Millisecond, 1200 * time.Millisecond, 3 * time.Second, 6 * time.Second}
}

// isLone is true for a seat that no other gateway can take.
func isLone(s *want.Seat) bool { return s.Others == 0 }
