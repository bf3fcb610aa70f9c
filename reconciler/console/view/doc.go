// Package view makes the values that the console serves as JSON: the observed state of a mux, and the plan for it. It
// is pure and decides nothing itself; package console serves it.
//
//	Sight ──Of──▶ Mux                  one mux: usage, numbers, channels and their states
//	Question ──Why──▶ Chain            one Service: each link from its class to its backends, and the broken ones
//	Sight ──TopologyOf──▶ MuxTopology  addresses, public ports, and their backends
package view
