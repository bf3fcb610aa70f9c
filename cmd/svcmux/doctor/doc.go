// Package doctor is `svcmux doctor`: it checks whether an installation is healthy.
//
//	command.go      flags, and the exit code          check.go        a check and its result
//	installed.go    Deployments, the lease, alerts    rights.go       rights of the reconciler and the webhook
//	admission.go    the webhook's configuration       certificate.go  certificates, without Secrets
//	dataplane.go    ipMode: API server and nodes      muxes.go        muxes and channels
//	planes.go       ipMode: known data planes         gateways.go     gateways, by their Leases
//	networks.go     muxes that a data plane ignores   print.go       the report
package doctor
