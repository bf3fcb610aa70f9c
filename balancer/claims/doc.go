// Package claims are the claims of one pool: which mux has which addresses and seat, and which gateways carry a seat.
//
//	ConfigMap svc-lb-mux-pool-<pool> ──Decode──▶ Claims ──Encode──▶ ConfigMap
//	muxes' statuses ──Rebuild──▶ Claims     if the ConfigMap is lost
//
// The controller alone writes claims. Agents read them, and nothing else about other gateways: they can't read the
// Leases of others.
//
// Life of a claim:
//
//	Hold      the mux gets addresses and a seat
//	Hold      the mux was created again under its name: it keeps both, and the claim gets the new UID
//	Release   the mux is gone: its addresses stay reserved for a grace
//	Expire    the grace is over: the addresses are free
//
// Decode loses nothing: a text that it can't read whole is an error, and the caller keeps what it knew before. The
// package is pure and total. It doesn't choose addresses (reconciler/addresses/pool) or seats (balancer/place).
package claims
