// Package lease reads and writes the Lease that registers a gateway.
//
//	agent ──Write──▶ Lease svc-lb-mux-gateway-<name> ──Read──▶ controller
//
// The Lease is in the namespace of the release. The agent alone writes it. The controller decides by it, and the
// console and svcmux show it. Its parts:
//
//	spec.renewTime, spec.leaseDurationSeconds  health: the agent renews the Lease while it works
//	spec.holderIdentity                        the agent's process, so that two agents under one name are noticed
//	label <prefix>/pool                        the pool that the gateway belongs to
//	other labels                               what a pool's selector can select gateways by
//	annotation <prefix>/gateway-facts          the machine: node, zone, peer addresses, capacity, networks, version
//	annotation <prefix>/gateway-report         muxes programmed or refused, seats held, claims applied
//	annotation <prefix>/gateway-traffic        what the busiest ports carried
//
// The report names a mux by UID: a mux that was created again under its name isn't programmed yet. It lists the
// addresses that the kernel translates for the mux: the controller shows an address only after a gateway reported it.
//
// A stale Lease is no proof that a gateway is dead: the API server may be away. So nothing here says that a gateway is
// gone.
//
// The package is pure and total. It limits the size of the texts that it writes and reads. Read ignores fields that it
// doesn't know, since agents and the controller are upgraded one after another. A part that can't be read is missing
// from the result and named in Problems.
package lease
