package decide

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/place"
)

// placeSeats decides which gateways can take which seat. The orders depend on the gateways' names, zones and capacities
// alone: a stale Lease changes no order. A gateway's Lease says its zone and capacity, and the pool limits the
// capacity. VRRP notices a dead gateway long before its Lease is stale, and only VRRP knows for sure.
func (d *deciding) placeSeats() {
	seats, gateways, ok := d.placed()
	if !ok {
		seats, gateways = d.keptSeats(), d.base.Gateways
	}
	d.next.Seats, d.next.Gateways = seats, gateways
}

// placed returns the seats by the Leases. It returns false if the seats must stay: no live gateway would be left, or a
// gateway is only missing from the cache.
func (d *deciding) placed() ([]claims.Seat, []claims.Gateway, bool) {
	var candidates []place.Gateway
	var gateways []claims.Gateway
	var unread []string // gateways that keep their places
	registered, live := map[string]bool{}, 0
	for i := range d.Gateways {
		g := &d.Gateways[i]
		if !d.Pool.Gateways.Selects(g.Name, g.Labels) {
			continue
		}
		registered[g.Name] = true
		if g.Facts == nil {
			if known, found := d.known(g.Name); found {
				gateways, unread = append(gateways, known), append(unread, g.Name)
			}
			continue
		}
		candidates = append(candidates,
			place.Gateway{Name: g.Name, Zone: g.Facts.Zone, Capacity: min(g.Facts.Capacity, d.Pool.MaxCapacity)})
		gateways = append(gateways, claims.Gateway{Name: g.Name, Addresses: slices.Clone(g.Facts.Addresses)})
		if g.IsLive && g.Facts.Capacity > 0 {
			live++
		}
	}
	if live == 0 {
		return nil, nil, false
	}
	for _, g := range d.base.Gateways {
		if !registered[g.Name] && !d.IsLive {
			d.NeedsLive = true
			return nil, nil, false
		}
	}
	slices.SortFunc(gateways, func(a, b claims.Gateway) int { return strings.Compare(a.Name, b.Name) })
	var seats []claims.Seat
	for _, kept := range d.keptSeats() {
		order := place.Order(fmt.Sprintf("%s/%d", d.Pool.Name, kept.RouterID), candidates)
		seats = append(seats, claims.Seat{RouterID: kept.RouterID, Order: insert(order, kept.Order, unread)})
	}
	return seats, gateways, true
}

// insert inserts the gateways whose facts can't be read into an order, at the places that they had. So a gateway can't
// keep others from coming and going by facts that can't be read.
func insert(order, before, unread []string) []string {
	for at, name := range before {
		if slices.Contains(unread, name) {
			order = slices.Insert(order, min(at, len(order)), name)
		}
	}
	return order
}

// known returns a gateway as the claims know it.
func (d *deciding) known(gateway string) (claims.Gateway, bool) {
	at := slices.IndexFunc(d.base.Gateways, func(g claims.Gateway) bool { return g.Name == gateway })
	if at < 0 {
		return claims.Gateway{}, false
	}
	return d.base.Gateways[at], true
}

// keptSeats returns the seats of the configuration, with their orders from the claims.
func (d *deciding) keptSeats() []claims.Seat {
	var seats []claims.Seat
	for _, id := range d.Pool.RouterIDs {
		seat := claims.Seat{RouterID: id}
		if at := slices.IndexFunc(d.base.Seats, func(s claims.Seat) bool { return s.RouterID == id }); at >= 0 {
			seat.Order = d.base.Seats[at].Order
		}
		seats = append(seats, seat)
	}
	return seats
}

// setSeats gives every claim the seat of its first address.
func (d *deciding) setSeats() {
	d.next.Muxes = slices.Clone(d.next.Muxes)
	for i := range d.next.Muxes {
		m := &d.next.Muxes[i]
		m.Seat = 0
		if len(m.Addresses) > 0 {
			m.Seat, _ = place.Seat(m.Addresses[0], d.Pool.RouterIDs)
		}
	}
}

func equalClaims(a, b claims.Claims) bool {
	return a.Pool == b.Pool && slices.EqualFunc(a.Muxes, b.Muxes, func(x, y claims.Mux) bool {
		return x.Key == y.Key && x.UID == y.UID && x.Seat == y.Seat && x.ReleasedAt.Equal(y.ReleasedAt) &&
			slices.Equal(x.Addresses, y.Addresses)
	}) && slices.EqualFunc(a.Seats, b.Seats, func(x, y claims.Seat) bool {
		return x.RouterID == y.RouterID && slices.Equal(x.Order, y.Order)
	}) && slices.EqualFunc(a.Gateways, b.Gateways, func(x, y claims.Gateway) bool {
		return x.Name == y.Name && slices.Equal(x.Addresses, y.Addresses)
	}) && slices.Equal(a.Down, b.Down) && a.Adverts == b.Adverts && slices.Equal(a.Pools, b.Pools)
}

// sameAddresses is true if both have the same addresses in any order.
func sameAddresses(a, b []netip.Addr) bool {
	return slices.Equal(slices.SortedFunc(slices.Values(a), netip.Addr.Compare),
		slices.SortedFunc(slices.Values(b), netip.Addr.Compare))
}
