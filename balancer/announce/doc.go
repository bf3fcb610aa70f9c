// Package announce makes a machine answer for the addresses of the seats that it holds.
//
//	Set(seats) ─▶ a virtual router per seat ─▶ addresses on the interface ─▶ gratuitous ARP, unsolicited NA
//	                 ▲         │
//	   adverts of others      own adverts        protocol 112, multicast or unicast
//
// The state machine is in balancer/vrrp. This package has the sockets, the addresses and the timers.
//
//   - While another gateway can take a seat, the seat's addresses have a valid lifetime of 5 s in the kernel, and the
//     agent renews it. If the agent dies, its kernel stops answering. A seat without other gateways has permanent
//     addresses: they survive a restart of the agent.
//   - Every address has the preferred lifetime 0: the machine never uses it as the source of its own connections.
//   - The addresses of a seat without other gateways are on the interface even before its router is active, unless
//     another gateway sends adverts of the seat.
//   - Adverts carry one constant address for each seat, which depends on the pool. An advert with another address comes
//     from another cluster with the same router ID: the announcer ignores it, and reports a fault.
//   - A machine that can't hear others holds no seat that others can take.
//
// Foreign addresses stay untouched: ours have a mark (IFA_PROTO, since kernel 5.18), and the caller names those from
// before a restart.
package announce
