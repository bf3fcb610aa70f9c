// Package view says what the console shows: what was seen of a mux, and what was decided, as values that read well in
// JSON. It decides nothing of its own, asks nobody, and is pure; who serves what it says is the console.
//
//	Seen ──Of──▶ Mux         one mux: usage, numbers, channels and their states
//	Seen ──Why──▶ Chain      one Service: each link from its class to its backends, and where it is broken
//	Seen ──Topology──▶ ...   addresses, public ports, and the backends behind them
package view
