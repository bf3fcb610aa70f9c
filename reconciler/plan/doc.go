// Package plan is the decision: who holds which port of a mux, what is written because of it, and why.
//
//	World ──Mux──▶ Plan    one mux with its channels and its ledger
//
// It is pure and total: the same values in give the same values out, whatever they are. What happens outside, such
// as reading, writing, waiting, logging and counting, lives in reconciler/mux, which does as it is told here. A dry run,
// a log line, an Event, the console and the golden tests print the same Plan. The decision about backends is in
// reconciler/slices.
//
// A pass over a mux:
//
//	standing      may anything be decided at all, or is the mux frozen?
//	ledger        who owns what: the ledger, or what can be rebuilt where it is lost
//	incumbents    who has ports keeps them, edits them, or lets them go
//	newcomers     who has none gets all or none
//	ports, names  what the mux must look like then
//	verdicts      what each channel is told, and shows
//
// The order in which a Plan is carried out is part of the promise that no two channels ever have one port:
//
//	Reserve  the ledger: new claims, and what is to go, marked so
//	Hide     addresses off channels that lose their last port
//	Publish  the mux: ports, notes, the generation they were decided from, and the name of its ledger; the ConfigMap that a
//	         ledger has moved from is deleted then
//	Settle   the ledger: what went is dropped, or held for its owner's grace
//	Show     channels: address, conditions, ports
//
// A number that changes hands does so in two passes: one that ends with it gone from mux and ledger, and the next.
package plan
