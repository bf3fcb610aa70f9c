// Package want decides what a gateway's kernel must hold: services, their backends, the muxes' addresses, and the seats
// of this gateway.
//
//	World ──Decide──▶ Decision    muxes, our slices, claims, settings of the machine, and the last Wanted
//
//	unread     is anything missing that must be read first? Then the last Wanted stays in force
//	addresses  claims say which mux has which address
//	services   a mux's ports, with the backends and the source ranges of our slices
//	overlaps   services that the kernel would refuse
//	seats      which virtual routers this gateway takes part in
//
// The package is pure and total. A fault is a Refusal of one mux's port: all other muxes go on. balancer/table
// puts the tables into the kernel.
//
// No missing news closes a port:
//
//   - Claims, muxes or slices that weren't read yet are another state than empty ones.
//   - An empty list is treated as unread where it contradicts the claims or the tables from before. Without any slices,
//     the backends of a number stay as long as its mux has the number.
//   - An address goes only if its claim is gone or released and the mux's status doesn't show it any more. The
//     controller hides an address before it releases it, so both sources agree in the end.
//   - A mux that is missing from the list keeps its services from before until its claim is released.
package want
