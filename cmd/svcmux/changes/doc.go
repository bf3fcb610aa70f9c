// Package changes is `svcmux plan`: what files of Services would do to the muxes of a cluster, if they were applied.
//
//	command.go    flags, and the exit code            gather.go    the files and the cluster
//	foretell.go   the cluster before and after        compare.go   what differs for a channel
//	report.go     the difference as data              unknown.go   what can't be known without rights
//	text.go, markdown.go  printers of it
//
// It decides nothing: package imagine carries out the plans of package plan on a copy of the cluster.
package changes
