// Package doctor is `svcmux doctor`: whether an installation is healthy.
//
//	command.go    flags, and the exit code           check.go       a check, and its result
//	installed.go  Deployments and the lease          admission.go   the webhook's configuration, endpoints, certificate
//	rights.go     the reconciler's rights            muxes.go       muxes, channels, ipMode
//	print.go      the report
package doctor
