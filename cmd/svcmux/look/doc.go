// Package look is what commands about muxes share: it reads a cluster with the rights of the user, and shows the
// result.
//
//	run.go       reads and prints, for commands that list
//	flags.go     flags that these commands have            settings.go  the prefix and the default namespace of muxes
//	read.go      reads with the user's rights              watch.go     watches for changes
//	world.go     the objects that were read, in whatever way
//	index.go     a sight of each mux                       choose.go    which muxes are shown
//	output.go    tables, JSON, YAML and names              changed.go   lines that a watch prints again
//
// It decides nothing: package sight does, from the packages of the reconciler.
package look
