// Package keepalived lets keepalived answer for the addresses of seats, in place of the virtual routers of gateway/agent/announce.
//
//	Set(seats) ─▶ a file with one vrrp_instance per seat ─▶ SIGHUP ─▶ keepalived ─▶ addresses on the interface
//	                                                                                      │
//	Status ◀───────────────────────── looks at the interface ◀────────────────────────────┘
//
// The file is one of our own, which keepalived.conf includes. It is replaced as a whole, and only if it changes: keepalived keeps the
// seats that it holds when it reads its files again. Adverts carry one constant address for each seat, the same as those of announce, so
// a pool may have gateways of both kinds.
//
// keepalived goes on without the agent: an end or a restart of the agent moves no seat.
package keepalived
