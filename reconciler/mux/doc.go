// Package mux is the mux line: one mux and its channels, everything that is written on Services.
//
//	observe  the mux, its channels, its ledger, from the cache     observe.go
//	decide   plan.Mux                                              package plan
//	apply    the plan, in its order; channels side by side         apply.go
//
// What is decided, and why, is in package plan; here it is seen to that a decision is made from what is so, and that
// it is carried out, or tried again. What a process remembers between two passes is a help to be quiet (memory.go): it
// may be lost at any time.
package mux
