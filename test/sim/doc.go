// Package sim plays histories. Both controllers of the reconciler, and those that serve Gateways, run unchanged on an
// API server in memory and in virtual time. Around them are users, owners, a provider, GitOps tools, mishaps, and a
// second replica.
//
//	scheduler ──▶ lets one thing happen: a request reaches the server, its answer returns, or one of them is lost
//	    │                                an informer gets a change, several changes at once, or a new list
//	    │                                a worker takes an item from a queue
//	    │                                a user acts; a process dies; another one leads; time passes
//	    └───────▶ then waits until all goroutines are blocked, and checks the writes against the promises
//
// A seed determines what happens. Each step has its own random number, so a history can be replayed, and steps can be
// left out. Controllers, handlers, writes and the contents of queues are those of the process. The parts around them
// are replaced: the API (package api), informers, the order in which queues are emptied, and the clock.
package sim
