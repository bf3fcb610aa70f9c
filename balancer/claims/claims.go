package claims

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Claims are the claims of one pool.
type Claims struct {
	Pool string
	// Muxes are sorted by namespace and name.
	Muxes []Mux
	// Seats are sorted by router ID.
	Seats []Seat
	// Gateways are sorted by name.
	Gateways []Gateway
	// Down are the backends that don't answer the gateways' probes, sorted, at most MaxDown.
	Down []netip.AddrPort
	// Adverts are the intervals of adverts; zero while both are DefaultInterval.
	Adverts Adverts
	// Pools are the addresses of all pools, at most MaxRanges. No backend may have one of them.
	Pools Ranges
}

// Adverts are intervals between adverts of a seat's holder. No gateway may send adverts less often than another one
// believes: otherwise the other one would take the seat between two adverts. So the controller changes the intervals in
// steps.
type Adverts struct {
	// Interval is how often a gateway sends adverts.
	Interval time.Duration
	// Believed is the longest interval that a gateway believes, at least Interval.
	Believed time.Duration
}

// DefaultInterval lets another gateway take a seat 300 to 400 ms after its holder died.
const DefaultInterval = 100 * time.Millisecond

// Adverts have steps and a limit in VRRP.
const (
	IntervalStep    = 10 * time.Millisecond
	LongestInterval = 40950 * time.Millisecond
)

// IsInterval is true for a time that adverts can name.
func IsInterval(d time.Duration) bool {
	return d >= IntervalStep && d <= LongestInterval && d%IntervalStep == 0
}

// MaxDown limits Down. In a working network, fewer backends fail at once. Backends beyond it count as up.
const MaxDown = 512

// Mux is the claim of one mux.
type Mux struct {
	Key types.NamespacedName
	UID types.UID
	// Addresses are sorted, at most one of a family.
	Addresses []netip.Addr
	// Seat is the router ID of the seat that carries the addresses; 0 if the mux has none.
	Seat uint8
	// ReleasedAt is when the grace began. It is zero while the mux holds its addresses.
	ReleasedAt time.Time
}

// IsHeld is true until the claim is released.
func (m *Mux) IsHeld() bool { return m.ReleasedAt.IsZero() }

// Seat is a virtual router and the gateways that can take it.
type Seat struct {
	RouterID uint8
	// Order has the names of the gateways, the preferred one first.
	Order []string
}

// Gateway is a gateway of the pool, as the other gateways need to know it.
type Gateway struct {
	Name string
	// Addresses are those at which the other gateways reach this one, sorted. With multicast there need not be any.
	Addresses []netip.Addr
}

// Find returns the claim of a mux.
func (c *Claims) Find(key types.NamespacedName) (Mux, bool) {
	at, found := c.index(key)
	if !found {
		return Mux{}, false
	}
	return c.Muxes[at], true
}

// Hold returns the claims with a mux's claim: added, or changed to these addresses and seat. A released claim is held
// again. A mux that was created again under its name keeps its claim by holding it with its new UID.
func (c Claims) Hold(mux Mux) Claims {
	mux.ReleasedAt, mux.Addresses = time.Time{}, slices.Clone(mux.Addresses)
	slices.SortFunc(mux.Addresses, netip.Addr.Compare)
	at, found := c.index(mux.Key)
	c.Muxes = slices.Clone(c.Muxes)
	if !found {
		c.Muxes = slices.Insert(c.Muxes, at, mux)
		return c
	}
	c.Muxes[at] = mux
	return c
}

// Release returns the claims with a grace for a mux's claim. If the grace runs already, nothing changes.
func (c Claims) Release(key types.NamespacedName, now time.Time) Claims {
	at, found := c.index(key)
	if !found || !c.Muxes[at].IsHeld() {
		return c
	}
	c.Muxes = slices.Clone(c.Muxes)
	c.Muxes[at].ReleasedAt = now.UTC().Truncate(time.Second)
	return c
}

// Expire returns the claims without those whose grace is over.
func (c Claims) Expire(now time.Time, grace time.Duration) Claims {
	c.Muxes = slices.DeleteFunc(slices.Clone(c.Muxes), func(m Mux) bool {
		return !m.IsHeld() && !now.Before(m.ReleasedAt.Add(grace))
	})
	return c
}

func (c *Claims) index(key types.NamespacedName) (int, bool) {
	return slices.BinarySearchFunc(c.Muxes, key, func(m Mux, key types.NamespacedName) int {
		return compareKeys(m.Key, key)
	})
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// sort brings the claims into their order.
func (c *Claims) sort() {
	slices.SortFunc(c.Muxes, func(a, b Mux) int { return compareKeys(a.Key, b.Key) })
	slices.SortFunc(c.Seats, func(a, b Seat) int { return cmp.Compare(a.RouterID, b.RouterID) })
	slices.SortFunc(c.Gateways, func(a, b Gateway) int { return cmp.Compare(a.Name, b.Name) })
	for i := range c.Muxes {
		slices.SortFunc(c.Muxes[i].Addresses, netip.Addr.Compare)
	}
	for i := range c.Gateways {
		slices.SortFunc(c.Gateways[i].Addresses, netip.Addr.Compare)
	}
	slices.SortFunc(c.Down, netip.AddrPort.Compare)
}
