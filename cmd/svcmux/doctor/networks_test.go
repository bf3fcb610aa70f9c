package doctor

import (
	"slices"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

const (
	userDefinedNetworks = `kind: DaemonSet
metadata: {namespace: ovn-kubernetes, name: ovnkube-node}
spec: {template: {spec: {containers: [{image: "ovn-kube:v1"}]}}}
---
kind: Namespace
metadata: {name: chat, labels: {k8s.ovn.org/primary-user-defined-network: ""}}
---
kind: Namespace
metadata: {name: shop}
---
kind: Namespace
metadata: {name: elsewhere, labels: {k8s.ovn.org/primary-user-defined-network: ""}}
`
	anotherProxy = "kind: Service\nmetadata: {namespace: svc-mux, name: mux, labels: " +
		"{service.kubernetes.io/service-proxy-name: mesh}}\n"
)

// TestMuxesThatNoDataPlaneCarriesAreNamed has a channel in a namespace on a user-defined network of OVN-Kubernetes, and
// then a mux that is left to another proxy.
func TestMuxesThatNoDataPlaneCarriesAreNamed(t *testing.T) {
	const wayOut = "keep muxes and channels in namespaces on the default network (docs/providers.md)"
	network := Check{"network", Failure, "svc-mux/mux: namespace chat is on a primary user-defined network, so " +
		"OVN-Kubernetes doesn't carry its part of the mux", wayOut}
	own := Check{"network", Failure, "svc-mux/mux: its namespace is on a primary user-defined network, so " +
		"OVN-Kubernetes gives the mux no backends", wayOut}
	proxy := Check{"proxy", Warning, "svc-mux/mux has the label service.kubernetes.io/service-proxy-name=mesh: " +
		"kube-proxy and Cilium ignore the mux",
		"remove the label, unless that proxy carries the mux"}
	for name, tc := range map[string]struct {
		apply     string
		forbidden []string
		want      []Check
	}{
		"an ordinary cluster":   {"", nil, nil},
		"a channel's namespace": {userDefinedNetworks, nil, []Check{network}},
		"the mux's namespace, too": {userDefinedNetworks + "---\nkind: Namespace\nmetadata: {name: svc-mux, labels: " +
			"{k8s.ovn.org/primary-user-defined-network: \"\"}}\n", nil,
			[]Check{own, network}},
		"namespaces can't be read": {userDefinedNetworks, []string{"namespaces"}, []Check{{"network", Unknown,
			`you may not read Namespaces (User "jane" cannot list resource "namespaces" at the cluster scope)`,
			"ask for this right, or ask an administrator to run svcmux doctor"}}},
		"another proxy": {anotherProxy, nil, []Check{proxy}},
	} {
		t.Run(name, func(t *testing.T) {
			c := looktest.Load(t, looktest.Worlds+"/installed.yaml")
			c.Apply(tc.apply)
			kubeconfig, _ := c.Serve(t, tc.forbidden...)
			got := reportOf(t, looktest.RunAt(t, command, kubeconfig, "", "-o", "json").Out).Checks
			got = slices.DeleteFunc(got, func(c Check) bool { return c.Name != "network" && c.Name != "proxy" })
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %+v\nwant %+v", got, tc.want)
			}
		})
	}
}
