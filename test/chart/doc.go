// Package chart tests charts/svc-lb-mux without a cluster: the real helm renders the templates, and the tests read the
// result as typed objects.
package chart
