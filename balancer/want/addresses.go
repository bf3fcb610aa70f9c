package want

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
)

// findAddresses finds the addresses that this gateway carries: those of held claims, and those that a mux's status
// still shows.
func (d *deciding) findAddresses() {
	claimed := map[netip.Addr]types.NamespacedName{}
	for i := range d.Claims.Muxes {
		m := &d.Claims.Muxes[i]
		for _, a := range m.Addresses {
			if _, twice := claimed[a]; twice {
				continue
			}
			claimed[a], d.taken[a] = m.Key, true
			if m.IsHeld() || d.shows(m.Key, a) {
				d.carry(a, m.Key, m.Seat)
			}
		}
	}
	for _, mux := range d.muxes { // those of other pools, too
		for _, a := range claims.Shown(mux) {
			d.taken[a] = true
		}
	}
	if d.Before == nil {
		return
	}
	for _, b := range d.Before.Tables.Addresses {
		holder, isClaimed := claimed[b.Address]
		switch {
		case !isClaimed && d.shows(b.Mux, b.Address):
			d.taken[b.Address] = true
			d.carry(b.Address, b.Mux, d.Before.seatOf(b.Address))
		case isClaimed && holder != b.Mux && d.shows(b.Mux, b.Address):
			d.refuse(b.Mux, "", AddressLost,
				fmt.Sprintf("address %s now belongs to mux %s: ask for another one, or for none", b.Address, holder))
		}
	}
}

// carry adds an address that this gateway carries. An address of the machine itself isn't carried: the tables would cut
// the machine off.
func (d *deciding) carry(address netip.Addr, mux types.NamespacedName, seat uint8) {
	if slices.Contains(d.Settings.Own, address) {
		d.refuse(mux, "", MachineAddress, fmt.Sprintf("address %s isn't carried: an interface of gateway %s has it: take "+
			"it off the interface, or out of the pool", address, d.Settings.Gateway))
		return
	}
	d.carried = append(d.carried, carried{address, mux, seat, d.muxes[mux]})
}

// shows is true if the mux's status shows the address.
func (d *deciding) shows(mux types.NamespacedName, address netip.Addr) bool {
	svc := d.muxes[mux]
	return svc != nil && slices.Contains(claims.Shown(svc), address)
}

// seatOf returns the router ID of the seat that had an address; 0 if no seat had it.
func (w *Wanted) seatOf(address netip.Addr) uint8 {
	for i := range w.Seats {
		if slices.Contains(w.Seats[i].Addresses, address) {
			return w.Seats[i].RouterID
		}
	}
	return 0
}

const highestPriority = 254 // 255 is for a router that owns the address

// seats returns the seats whose order has this gateway.
func (d *deciding) seats() []Seat {
	peers := map[string][]netip.Addr{}
	for _, g := range d.Claims.Gateways {
		peers[g.Name] = g.Addresses
	}
	var seats []Seat
	for _, claim := range d.Claims.Seats {
		position := slices.Index(claim.Order, d.Settings.Gateway)
		if position < 0 {
			continue
		}
		seat := Seat{RouterID: claim.RouterID, Priority: uint8(max(1, highestPriority-position)),
			Others: len(claim.Order) - 1}
		for _, name := range claim.Order {
			if name != d.Settings.Gateway {
				seat.Peers = append(seat.Peers, peers[name]...)
			}
		}
		seat.Peers = slices.DeleteFunc(seat.Peers, func(a netip.Addr) bool { return slices.Contains(d.Settings.Own, a) })
		for _, c := range d.carried {
			if c.seat == claim.RouterID {
				seat.Addresses = append(seat.Addresses, c.address)
			}
		}
		seat.Adverts = d.Claims.Adverts
		slices.SortFunc(seat.Peers, netip.Addr.Compare)
		seat.Peers = slices.Compact(seat.Peers)
		slices.SortFunc(seat.Addresses, netip.Addr.Compare)
		seats = append(seats, seat)
	}
	slices.SortFunc(seats, func(a, b Seat) int { return cmp.Compare(a.RouterID, b.RouterID) })
	return seats
}
