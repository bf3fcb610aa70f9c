// Package changes is `svcmux plan`: it predicts what manifests would do to the muxes of a cluster.
//
//	command.go    flags, and the exit code            gather.go    reads the files and the cluster
//	predict.go    the cluster without and with the    admit.go     manifests that the API server would refuse
//	              manifests
//	compare.go    the difference for a channel        later.go     numbers that come when a grace ends
//	port.go       the difference for a port           mux.go       the difference for a mux
//	report.go     the difference as data              unknown.go   questions that the user's rights leave open
//	text.go, markdown.go  print it
//
// It decides nothing: package dryrun carries out the plans of package plan on a copy of the cluster.
package changes
