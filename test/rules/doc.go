// Package rules checks the chart's alerts and dashboard. Prometheus' own engine runs each alert over the series of a
// story, and every metric of a query must be one that the processes export.
//
// The package is a separate module, so that Prometheus' dependencies don't change the product's. It doesn't use
// Prometheus' package rules, which depends on the clients of three clouds. Instead, thirty lines of alert_test.go
// decide from the results of a query when an alert fires.
package rules
