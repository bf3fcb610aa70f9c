// Package chart holds charts/svc-lb-mux to its word as far as that can be seen without a cluster: the real helm fills the
// templates in, and tests read the result as typed objects.
package chart
