package doctor

import "testing"

func TestDataPlanesAreJudgedByTheirImages(t *testing.T) {
	const (
		proxy = "registry.k8s.io/kube-proxy:"
		cil   = "quay.io/cilium/cilium:"
	)
	for name, tc := range map[string]struct {
		sets     [][2]string // name and image
		replaces bool        // Cilium's settings, as far as known
		known    bool
		state    State
		message  string
	}{
		"kube-proxy": {[][2]string{{"kube-proxy", proxy + "v1.30.0"}}, false, false, OK, "kube-proxy 1.30.0 " +
			"honours ipMode"},
		"kube-proxy of EKS": {[][2]string{{"kube-proxy", "1.dkr.ecr/eks/kube-proxy:v1.33.0-minimal-eksbuild.3"}}, false,
			false, OK, "kube-proxy 1.33.0 honours ipMode"},
		"an old kube-proxy": {[][2]string{{"kube-proxy", proxy + "v1.29.9"}}, false, false, Failure,
			"kube-proxy 1.29.9 ignores ipMode"},
		"kube-proxy by digest": {[][2]string{{"kube-proxy", "registry:5000/kube-proxy@sha256:1"}}, false, false, Unknown,
			"kube-proxy honours ipMode from 1.30: the image's tag doesn't tell its release"},
		"Cilium alone": {[][2]string{{"cilium", cil + "v1.17.1@sha256:1"}}, false, false, OK, "Cilium 1.17.1 " +
			"honours ipMode"},
		"an old Cilium": {[][2]string{{"cilium", cil + "v1.16.9"}}, false, false, Failure, "Cilium 1.16.9 " +
			"ignores ipMode"},
		"Cilium with the bug": {[][2]string{{"cilium", cil + "v1.18.0"}}, true, true, Failure,
			"Cilium 1.18.0 ignores ipMode"},
		"Cilium after the bug": {[][2]string{{"cilium", cil + "v1.18.1"}}, true, true, OK, "Cilium 1.18.1 honours " +
			"ipMode"},
		"Cilium beside kube-proxy": {[][2]string{{"cilium", cil + "v1.16.0"}, {"kube-proxy", proxy + "v1.34.0"}}, false, true,
			OK, "kube-proxy 1.34.0 honours ipMode"},
		"Cilium before kube-proxy": {[][2]string{{"cilium", cil + "v1.16.0"}, {"kube-proxy", proxy + "v1.34.0"}}, true, true,
			Failure, "Cilium 1.16.0 ignores ipMode"},
		"Cilium for the network": {[][2]string{{"cilium", cil + "v1.16.0"}}, false, true, Unknown,
			"kube-proxy isn't run by a DaemonSet"},
		"GKE Dataplane V2": {[][2]string{{"anetd", "gke.gcr.io/cilium/cilium:v1.14.1"}}, false, false, Unknown,
			"it isn't known whether GKE Dataplane V2 1.14.1 honours ipMode"},
		"Antrea": {[][2]string{{"antrea-agent", "antrea/antrea-agent-ubuntu:v2.1.0"}}, false, false, OK,
			"Antrea 2.1.0 honours ipMode"},
		"Calico, eBPF": {[][2]string{{"calico-node", "docker.io/calico/node:v3.29.1"}}, false, false, OK,
			"Calico 3.29.1 without kube-proxy honours ipMode, by its source code"},
		"Calico beside kube-proxy": {[][2]string{{"calico-node", "calico/node:v3.29.1"}, {"kube-proxy", proxy + "v1.28.0"}},
			false, false, Failure, "kube-proxy 1.28.0 ignores ipMode"},
		"OVN-Kubernetes": {[][2]string{{"ovnkube-node", "ovn/ovn:1"}}, false, false, Unknown,
			"it isn't known whether OVN-Kubernetes honours ipMode"},
		"kube-router": {[][2]string{{"kube-router", "docker.io/cloudnativelabs/kube-router:v2.2.0"}}, false,
			false, Unknown, "it isn't known whether kube-router 2.2.0 honours ipMode"},
		"a DaemonSet of other sort": {[][2]string{{"node-exporter", "prom/node-exporter:v1.8.0"},
			{"kube-proxy", proxy + "v1.31.0"}}, false, false, OK, "kube-proxy 1.31.0 honours ipMode"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []running
			for _, set := range tc.sets {
				if r, is := runningOf("kube-system", set[0], set[1]); is {
					all = append(all, r)
				}
			}
			state, message := judge(all, func(string) (bool, bool) { return tc.replaces, tc.known })
			if state != tc.state || message != tc.message {
				t.Errorf("got %s, %q\nwant %s, %q", state, message, tc.state, tc.message)
			}
		})
	}
}
