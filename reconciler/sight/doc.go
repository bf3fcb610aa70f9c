// Package sight gathers the world of one mux, and decides about it as a pass of the reconciler does. The console and
// the command line show the result.
//
//	Question, Source ──Of──▶ Sight
//
//	sight.go   the Sight, and how it is gathered
//	carrier.go what the gateways' controller wrote on the mux
//	unread.go  unreadable objects, and their substitutes
//	said.go    the conditions that the reconciler wrote: for an onlooker, they count more than the plan
//
// The package is pure. A Source reads: from the reconciler's cache, or from lists that the command line read.
package sight
