// Package binaries builds the programs that test/cluster runs, from their Go modules, once, into a user cache.
//
// Each folder below this one is a Go module of its own, so that Kubernetes, Helm, kwok and cert-manager can each
// have the dependencies they were released with and none of them moves what we ship. What is built lives here;
// how it is started doesn't (package cluster).
//
//	Need(product…) ── in the cache? ── yes ──────────────────────────────► Dir
//	                       │ no
//	                   flock NAME.lock  (a second builder waits here, then finds it in the cache)
//	                       │
//	                   go build ─► .NAME.partial/ ── rename ─► NAME/ ─► Dir
//
// A cache entry's name ends in a hash of the module's files, the flags and the Go version. So an entry is never
// out of date, only unused; and one that was interrupted has no name at all.
package binaries
