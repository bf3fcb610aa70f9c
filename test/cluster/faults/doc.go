// Package faults is a reverse proxy that stands between one client (a reconciler, kubectl, a test) and a real
// kube-apiserver, counts what passes and, on request, makes it go wrong.
//
//	             rules, in order           request made        answer on its way back
//	client ──► Delay, Pause, Drop, Answer ──► API server ──► DropAfter, AnswerAfter, Notify ──► client
//	              │ count, log                    │
//	              └ verb, resource, user          └ watch events ──► Hold, Delay, Break, Expire ──► client
//
// A rule says which requests it is about, how many of them, and what becomes of them. Rules are tried in the order
// they were added; each that matches acts, until one of them ends the request. They may come and go at any time,
// and each gives a handle that tells how often it has acted and can wait for it.
//
// Watch events are another matter: a stream that was opened long ago must be held back when a test asks for it.
// So holds and delays of watches apply to open streams and to new ones, event by event, order kept, and nothing
// is decoded.
//
// What doesn't live here: starting an API server, freezing or killing components (test/cluster does), and any
// knowledge of muxes and channels.
//
// Two habits of client-go to know when writing a test. It repeats a request whose answer carries Retry-After (up
// to ten times, so Answer(429) is seen by its caller only with RetryAfter(0) or a rule that outlasts it), and over
// HTTP/1.1 it repeats a GET whose connection was closed.
package faults
