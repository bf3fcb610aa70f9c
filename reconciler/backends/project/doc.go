// Package project is the decision about backends: which EndpointSlices a mux must have for one of its channels.
//
//	View ──Decide──▶ Decision    one channel, its claims, its EndpointSlices, and the slices that the mux has for it
//
// It is pure and total: equal views give equal decisions. Package reconciler/backends reads, writes, waits and reports.
// Names, labels and owners of carried slices are defined here, too.
package project
