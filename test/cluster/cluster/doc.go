// Package cluster starts a real Kubernetes for a test, in seconds, with nothing downloaded.
//
//	func TestMain(m *testing.M) { cluster.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		c := cluster.Start(t, cluster.Nodes(2), cluster.Provider())
//		c.Kubectl(t, "apply", "-f", "thing.yaml")
//		…
//	}
//
// Three tiers, each on top of the last: the control plane with kube-proxy as plain processes (most tests need no
// more); real nodes with containerd and a kubelet (root only); nodes and pods played by kwok, by the thousand.
//
//	  namespace "outside"            the host's first namespace           namespace "node-1", "node-2", …
//	┌────────────────────┐  veth  ┌────────────────────────────┐  veth  ┌───────────────────────────────┐
//	│ clients:           ├────────┤ etcd, API server, managers,├────────┤ containerd, kubelet,          │
//	│ c.Outside().Dial   │        │ kube-proxy, kwok    (lan0) │        │ kube-proxy, pods (ptp, veth)  │
//	└────────────────────┘        └────────────────────────────┘        └───────────────────────────────┘
//
// Everything runs on a host of its own (package host) and is gone with the test. What is built lives in package
// binaries, what plays the cloud in package provider, what goes wrong on purpose in package faults.
package cluster
