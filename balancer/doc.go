// Package balancer runs a gateway: one machine that carries muxes' addresses.
//
//	API server ──▶ news: muxes, slices, claims ─┐
//	disk ──▶ what was wanted before ────────────┼─▶ want.Decide ─▶ table: nftables ─▶ announce: seats ─▶ keep: disk
//	kernel ──▶ the machine's addresses ─────────┘                      │
//	                                                                   └─▶ report ─▶ the gateway's Lease
//
// A pass starts after news, after a foreign transaction in nftables, after a failed pass, and every ten seconds. Within
// a pass, an address leaves the interface before its tables go, and comes onto the interface after its tables are in
// force.
//
//   - Without news, or with empty lists that contradict the claims, everything stays as it was. Package want decides
//     that.
//   - If the kernel refuses a transaction, the agent splits it until each refused part is alone. All other parts are in
//     force. See refused.go.
//   - The agent restores tables that other processes change or flush. See guard.go.
//   - The agent writes no sysctls. It checks them, and names what to set.
package balancer
