// Package looktest has clusters for the tests of commands about muxes. A cluster is a file of YAML documents: what people apply. A
// stand-in for the reconciler carries out its plans, so that the rest is as in a cluster.
//
//	cluster.go    objects, and edits of them        reconcile.go  the stand-in for the reconciler
//	server.go     an API server for them            golden.go     golden output
package looktest
