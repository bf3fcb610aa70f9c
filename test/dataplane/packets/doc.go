// Package packets asks through load balancers, as clients do, and says what came back: once (Ask), or over and over
// while something is done to the cluster (Load). It also answers for pods that nobody runs (StandIn).
package packets
