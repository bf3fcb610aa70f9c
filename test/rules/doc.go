// Package rules holds the chart's alerts and dashboard to what they promise: Prometheus' own engine runs each alert over
// series that tell a story, and every metric that is asked for is one that the processes have.
//
// It is a module of its own, so that what Prometheus depends on never moves what the product depends on. Prometheus'
// package rules is left out for what it brings along, the clients of three clouds: what an alert does with the answers of
// its query is thirty lines here (alert_test.go).
package rules
