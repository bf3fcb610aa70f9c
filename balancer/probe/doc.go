// Package probe finds backends that don't answer: it opens a TCP connection to each, again and again, and closes it.
//
// A pod's readiness comes from its kubelet. Kubernetes needs some 40 s to notice a dead node, and never notices a wrong
// network policy. Here a backend fails after three probes in a row without an answer, and is up again after one that is
// answered. A connection that the backend refuses is no answer: nothing listens.
//
// The agent only reports the results. The controller gathers the results of all gateways and writes one list into the
// pool's claims, because all gateways must choose the same backend for a connection.
package probe
