// Package allocate gives routes of the Gateway API numbers on Gateways of any implementation. A route's number is in a
// ListenerSet of its own, which the Gateway's implementation programs.
//
//	allocator.go  the feature that package run runs
//	watch.go      which change wakes which Gateway
//	line.go       one pass over a Gateway: observe, decide, apply
//	observe.go    the Gateway, its routes and ListenerSets, and its ledger, as package plan knows muxes and channels
//	publish.go    ListenerSets
//	block.go      a ledger that the API server refuses
//	show.go       status, annotation and Events of routes
//	stray.go      routes that no longer ask for a number
//	unserved.go   routes that ask on a Gateway that this process doesn't serve
//	nosets.go     what routes are told while the API server doesn't serve ListenerSets
//
// Package plan decides, as it does for muxes. The ledger, a ConfigMap in the Gateway's namespace, says which route has
// which number. A claim enters the ledger before its ListenerSet is made, and leaves the ledger after the ListenerSet
// is gone.
package allocate
