// Package dryrun carries out plans on a copy of the objects that were read from a cluster. `svcmux plan` uses it to
// predict the result of manifests. Nothing is written to the cluster.
//
//	cluster.go  the copy, and passes over a mux until no write is left
//	write.go    the writes of a plan
//	merge.go    a manifest, merged into an object as kubectl apply does
//
// It decides nothing: package plan does.
package dryrun
