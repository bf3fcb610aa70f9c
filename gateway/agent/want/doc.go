// Package want decides what a gateway's kernel must hold, and which seats the gateway must take.
//
//	View ──Decide──▶ Tables, Seats, Refusals    muxes, our EndpointSlices, claims, and the settings of this machine
//
// It is pure and total: equal views give equal decisions. A mux that can't be served is refused with a sentence, and harms no
// other mux. The tables are put into the kernel by gateway/agent/table.
package want
