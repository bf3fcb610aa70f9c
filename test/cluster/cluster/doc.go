// Package cluster starts a real Kubernetes for a test within seconds, without downloads.
//
//	func TestMain(m *testing.M) { cluster.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		c := cluster.Start(t, cluster.Nodes(2), cluster.WithProvider())
//		c.Kubectl(t, "apply", "-f", "thing.yaml")
//		…
//	}
//
// There are three tiers. First, the control plane with kube-proxy as processes, which suffices for most tests. Second,
// real nodes with containerd and a kubelet (root only). Third, thousands of nodes and pods that kwok simulates. The
// second and the third need only the first.
//
//	  namespace "outside"            the host's first namespace           namespace "node-1", "node-2", …
//	┌────────────────────┐  veth  ┌────────────────────────────┐  veth  ┌───────────────────────────────┐
//	│ clients:           ├────────┤ etcd, API server, managers,├────────┤ containerd, kubelet,          │
//	│ c.Outside().Dial   │        │ kube-proxy, kwok    (lan0) │        │ kube-proxy, pods (ptp, veth)  │
//	└────────────────────┘        └────────────────────────────┘        └───────────────────────────────┘
//
// Everything runs on a separate host (package host), and ends with the test. Package binaries builds the programs,
// package provider plays the cloud, and package faults injects faults.
package cluster
