// Package sim plays histories: both lines of the reconciler, as they are, on an API server in memory and in virtual time,
// with users, owners, a provider, GitOps tools and mishaps around them, and a second replica.
//
//	scheduler ──▶ lets one thing happen: a request reaches the server, its answer comes back, or neither
//	    │                                a change reaches an informer, or several at once, or a list in their place
//	    │                                a worker takes what waits in a queue
//	    │                                somebody does something; a process dies; another one leads; time passes
//	    └───────▶ then waits until everything stands still, and holds what was written to the promises
//
// What happens is drawn from a seed, step by step, each step from a number of its own: a history can be told again, and
// steps can be left out of it. Nothing of the lines is replaced: their controllers, queues' contents, handlers and writes
// are those of the process. What is ours is below and around them: the API (package api), informers, the order in which
// queues are emptied, and the clock.
package sim
