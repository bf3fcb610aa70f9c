// Package imagine carries out plans on a copy of what was read of a cluster, to foretell what the reconciler does. Nothing is written to
// the cluster.
//
//	cluster.go  the copy, and passes over it until nothing changes
//	write.go    the writes of a plan
//	apply.go    a manifest, as kubectl apply merges it into an object that exists
package imagine
