// Package looktest has clusters for the tests of commands about muxes. A cluster is a file of YAML documents that
// people apply. A stand-in for the reconciler makes plans and carries them out, so that the rest is as in a real
// cluster.
//
//	cluster.go    objects, and edits of them        reconcile.go  the stand-in for the reconciler
//	server.go     an API server for them            golden.go     golden output
package looktest
