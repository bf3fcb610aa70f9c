// Package binaries builds the programs that test/cluster runs, from their Go modules, once, into a user's cache.
// Package cluster starts them.
//
// Each folder below this one is a separate Go module, so none of them adds a dependency to the product. A library that
// the product uses, too, has the product's version in these modules, which may be newer than in their own releases. An
// empty cache then compiles it once, and not once for each program.
//
//	Need(product…) ── in the cache? ── yes ──────────────────────────────► Dir
//	                       │ no
//	                   flock NAME.lock  (a second builder waits here, then finds it in the cache)
//	                       │
//	                   go build ─► .NAME.partial/ ── rename ─► NAME/ ─► Dir
//
// The name of a cache entry ends in a hash of the module's files, the flags and the Go version. So an entry is never
// stale, only unused. An interrupted build has no entry.
package binaries
