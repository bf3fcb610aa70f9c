// Package place decides which gateways carry which addresses.
//
//	address ──Seat──▶ seat ──Order──▶ gateways, the preferred one first
//
// A seat is a virtual router ID with an order of gateways. Seats exist so that the load of a dead gateway spreads over
// all others: its seats have different second gateways.
//
// Both steps are rendezvous hashes (highest random weight): every candidate gets a score from its own name and the key
// alone, and the highest score wins. A candidate that comes or goes changes no other candidate's score, so only the
// keys that it wins or loses move.
//
// The package is pure and total. It doesn't know whether a gateway is alive, and needn't: VRRP finds the first live
// gateway of an order. The controller passes in all gateways that have a Lease. Claims (balancer/claims) record the
// result, so that agents need no Leases.
package place
