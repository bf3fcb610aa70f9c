package announce

import (
	"net/netip"
	"time"

	"go.uber.org/zap"

	"nowake.ai/svc-lb-mux/gateway/agent/want"
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
	// Interval is how often the holder of a seat sends adverts.
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
	// DefaultInterval lets another gateway take a seat 300 to 400 ms after its holder died.
	DefaultInterval = 100 * time.Millisecond
)

// helloTimes are how long after it took a seat a gateway announces the addresses. Once isn't enough: Linux ignores a second change of a
// neighbour's entry within a second.
func helloTimes() []time.Duration {
	return []time.Duration{0, 200 * time.Millisecond, 1200 * time.Millisecond, 3 * time.Second, 6 * time.Second}
}

// isLone is true for a seat that no other gateway can take.
func isLone(s *want.Seat) bool { return s.Others == 0 }
