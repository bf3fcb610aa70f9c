// Package gateways compares gateways with other ways to carry connections on a Linux machine: one plain DNAT rule, the
// rules of the real kube-proxy, and rules that nft loads from a file, as ch-k8s-lbaas does beside keepalived.
package gateways
