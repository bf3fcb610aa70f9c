// Package faults is a reverse proxy between a client (a reconciler, kubectl, a test) and a real kube-apiserver. It
// counts requests, and injects faults when a test asks for them.
//
//	             rules, in order           request made        answer on its way back
//	client ──► Delay, Pause, Drop, Answer ──► API server ──► DropAfter, AnswerAfter, Notify ──► client
//	              │ count, log                    │
//	              └ verb, resource, user          └ watch events ──► Hold, Delay, Break, Expire ──► client
//
// A rule selects requests, limits their number, and defines the fault. Rules are tried in the order in which they were
// added. Each matching rule acts, until one ends the request. Rules can be added and removed at any time. Each has a
// handle that counts its actions and can wait for them.
//
// Watch events work differently, because a test may hold back a stream that was opened long ago. Holds and delays of
// watches apply to open streams and to new ones. They act on each event, keep the order, and decode nothing.
//
// This package doesn't start an API server. It doesn't freeze or kill components (test/cluster does), and it knows
// nothing of muxes and channels.
//
// Two habits of client-go matter for tests. It repeats a request whose answer has Retry-After, up to ten times. So a
// caller sees Answer(429) only with RetryAfter(0), or if the rule outlasts the retries. And over HTTP/1.1 it repeats a
// GET whose connection was closed.
package faults
