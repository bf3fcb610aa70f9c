// Package keepalived lets keepalived answer for the addresses of seats, in place of the virtual routers of
// balancer/announce.
//
//	Set(seats) ─▶ a file with one vrrp_instance per seat ─▶ SIGHUP ─▶ keepalived ─▶ addresses on the interface
//	                                                                                      │
//	Status ◀───────────────────────── looks at the interface ◀────────────────────────────┘
//
// The file is our own, and keepalived.conf includes it. The agent replaces it as a whole, and only if it changes. When
// keepalived reads its files again, it keeps the seats that it holds. Adverts carry one constant address for each seat,
// the same as those of announce, so a pool may have gateways of both kinds.
//
// keepalived goes on without the agent: an end or a restart of the agent moves no seat.
package keepalived
