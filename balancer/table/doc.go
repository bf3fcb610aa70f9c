// Package table puts a gateway's tables into the kernel: nftables over netlink.
//
//	want.Tables ──Apply──▶ one transaction with the difference to what the kernel holds
//
// There is one table per address family. Ports are map elements, not rules: 10,000 rules take a hundred times as long
// to load as 10,000 elements. Tenants choose how many elements there are, so each costs at most the logarithm of their
// number. For that, the kernel sees the key of a range as one value. nft prints it as bytes: the address, the protocol
// and the port in hexadecimal.
//
//	prerouting, output (nat, before kube-proxy)
//	      │ to a mux's address?
//	      ▼
//	  dispatch ── from a known backend, and no SYN ──▶ drop
//	      │
//	  requests
//	      │ services, ranges: address . protocol . port
//	      ├──▶ n3  jhash(client) mod 3 ── slots: address . protocol . port . slot ──▶ DNAT to backend . port
//	      ├──▶ n3-from  lists: address . protocol . port ──▶ list; list . client in networks? ──▶ n3
//	      └──▶ otherwise: a SYN gets a RST, the rest is dropped
//	guard (filter, after nat)   still to a mux's address: drop, but for IPv6 neighbour discovery
//	traffic (filter)            traffic, range-traffic: address . protocol . port of the client's packet: count
//	postrouting (nat)           masqueraded: address ──▶ masquerade; sources-seen: address ──▶ SNAT; otherwise unchanged
//
// Everything fails closed: a chain that finds no slot drops the packet.
//
// The values come from balancer/want. The agent decides when to apply, and what to do about a refused transaction.
// The package ignores foreign tables, and never writes them.
package table
