// Package addresses is the controller of gateways. It gives muxes addresses of pools, decides which gateways can take
// them, and shows an address once a gateway carries it.
//
//	observe   the ConfigMaps of claims (live), muxes and Leases (cached; live if the decision asks for it)
//	decide    reconciler/addresses/decide, one pool after the other (pure)
//	apply     hide addresses, write claims, show addresses and conditions, emit Events
//
// One pass looks at all pools: no address may be in the claims of two of them. A pass reads everything again. The
// controller remembers only what it can't read again, such as since when a mux is missing, and which deletions its
// watch has reported. So a controller that is killed after any write, or that replaces another one, goes on with the
// next pass. Every write carries the version that it was decided from, and fails on a conflict.
package addresses
