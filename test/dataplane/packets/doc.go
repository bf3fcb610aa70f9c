// Package packets sends requests through load balancers, as clients do, and returns the answers: once, or repeatedly
// while the cluster changes (Load). It also answers for pods that no kubelet runs (StandIn).
package packets
