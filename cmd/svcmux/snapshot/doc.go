// Package snapshot is `svcmux snapshot`: it writes a file with which all commands that read a cluster work elsewhere.
//
//	command.go  flags, and the file               gather.go  reads what the other commands read
//	trim.go     drops fields that no command reads
//	pick.go     keeps some fields of an object
//	hash.go     --hash-names: the hashes          hash_*.go  the names in objects and in the header
//	*_gateway.go  the same for objects of the Gateway API
//	*_install.go  the same for the chart's Deployments, and DaemonSets of data planes
//
// Package archive has the file's format. Secrets are never read.
package snapshot
