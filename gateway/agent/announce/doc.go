// Package announce makes a machine answer for the addresses of the seats that it holds.
//
//	Set(seats) ─▶ a virtual router per seat ─▶ addresses on the interface ─▶ gratuitous ARP, unsolicited NA
//	                 ▲         │
//	   adverts of others      own adverts        protocol 112, multicast or unicast
//
// The state machine is in gateway/agent/vrrp. This package has the sockets, the addresses and the timers.
//
//   - While another gateway can take a seat, its addresses have a valid-lifetime of 5 s in the kernel, which is refreshed. If the agent
//     dies, its kernel stops to answer. A seat without other gateways has permanent addresses: they survive a restart of the agent.
//   - Every address has the preferred lifetime 0: the machine never uses it as the source of own connections.
//   - A lone seat's addresses are held before its router is active, unless another gateway's advert says that it holds them.
//   - Adverts carry one constant address for each seat, which depends on the pool. Adverts with another one are of another cluster with
//     the same router ID: they are ignored, and told.
//   - A machine that can't hear others holds no seat that others can take.
//
// Foreign addresses stay untouched: ours have a mark (IFA_PROTO, since kernel 5.18), and the caller names those of before a restart.
package announce
