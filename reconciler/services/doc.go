// Package services is the mux line: the controller that reconciles one mux with its channels and writes Services and
// ledgers.
//
//	observe  the mux, its channels, its ledger, from the cache     observe.go
//	decide   plan.Mux                                              package plan
//	apply    the plan, in its order; channels in parallel          apply.go
//
// Package plan decides. This package observes, writes, and retries. The memory between two passes (memory.go) only
// avoids repeated Events and requests: a process may lose it at any time.
package services
