// Package decide decides about one pool of gateways: which mux has which addresses and seat, what muxes' statuses show,
// and when addresses are released.
//
//	World ──Decide──▶ Decision    the claims, muxes and gateways' Leases that were read
//
//	base       the stored claims, or claims rebuilt from the muxes' statuses if the ConfigMap is lost
//	seats      which gateways can take which seat (balancer/place)
//	addresses  which addresses each mux shall have (reconciler/addresses/pool)
//	orphans    claims whose mux is gone
//	status     which addresses a mux shows, its conditions and Events
//
// The order of the writes of a Decision is a promise: first Hide, then Claims, then Show.
//
//   - Claimed before answered: agents program only what the ConfigMap says.
//   - Answered before shown: a status gets an address only if the stored claims have it, and as many live gateways as
//     the mux asks for report that their kernels translate it.
//   - Hidden before released: claims lose an address only in a pass that saw, in live lists, no status with it.
//
// No missing news takes anything away:
//
//   - A claim is released only if live lists lack its mux for the whole grace, or if a watch told the mux's deletion
//     and a live list lacks it.
//   - A stale Lease is an alarm, and changes no seat. A gateway without a Lease leaves the seats only if a live list
//     lacks it, too, and another gateway is alive.
//   - Claims that can't be read are left as they are, and so are all statuses.
//
// The package is pure and total.
package decide
