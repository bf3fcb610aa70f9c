package restraint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// Accounts of gateways. The machine far-1 is outside of the cluster, and its roles grant more than docs/gateways.md
// says.
const (
	controller = "the gateways controller"
	onNode     = "the agent on node-1, of pool rack"
	onNoNode   = "an agent's token that is of no pod"
	outside    = "the machine far-1"
	neighbour  = "another account of the namespace"

	rackAgent = usual + "-gateway-rack"
)

// pools has two pools on nodes, and one on machines outside of the cluster.
const pools = `gateways.pools=[{"name":"rack","addresses":["192.0.2.0/25"],"announce":"none"},` +
	`{"name":"attic","addresses":["198.51.100.0/25"],"announce":"none"},` +
	`{"name":"far","addresses":["203.0.113.0/25"],"announce":"none","machines":"outside"}]`

// gatewayThings are a mux of gateways, one in a namespace of Kubernetes itself, and Leases.
const gatewayThings = `
apiVersion: v1
kind: Service
metadata: {name: edge, namespace: team, annotations: {` + prefix + `/multiplexer: "true"}}
spec: {type: LoadBalancer, loadBalancerClass: gateway.` + prefix + `/rack, allocateLoadBalancerNodePorts: false,
	ports: [{name: placeholder, port: 101}]}
---
apiVersion: v1
kind: Service
metadata: {name: edge, namespace: kube-system, annotations: {` + prefix + `/multiplexer: "true"}}
spec: {type: LoadBalancer, loadBalancerClass: gateway.` + prefix + `/rack, allocateLoadBalancerNodePorts: false,
	ports: [{name: placeholder, port: 101}]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: svc-lb-mux-gateway-node-1, namespace: ` + namespace + `, labels: {` + prefix + `/pool: rack}}
---
# The node was in another pool before.
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: svc-lb-mux-gateway-node-3, namespace: ` + namespace + `, labels: {` + prefix + `/pool: attic}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leases, namespace: ` + namespace + `}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: leases, namespace: ` + namespace + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leases}
subjects:
- {kind: ServiceAccount, namespace: ` + namespace + `, name: gateway-far-1}
- {kind: ServiceAccount, namespace: ` + namespace + `, name: other}
- {kind: ServiceAccount, namespace: ` + namespace + `, name: ` + rackAgent + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: statuses}
rules: [{apiGroups: [""], resources: [services/status], verbs: [patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: statuses}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: statuses}
subjects: [{kind: ServiceAccount, namespace: ` + namespace + `, name: ` + usual + `-gateways}]
`

// installGateways applies the roles and policies of gateways, and creates clients of their accounts.
func (w *world) installGateways(t *testing.T, set ...string) {
	t.Helper()
	w.Apply(t, w.Helm(t, append([]string{"template", usual, chartOf(t), "--namespace", namespace, "--set-json", pools,
		"--show-only", "templates/gateways-roles.yaml", "--show-only", "templates/gateways-policy.yaml"}, set...)...))
	w.registerMachine(t)
	w.Apply(t, gatewayThings)
	for as, account := range map[string]struct{ name, node string }{
		controller: {usual + "-gateways", ""}, onNode: {rackAgent, "node-1"}, onNoNode: {rackAgent, ""},
		outside: {"gateway-far-1", ""}, neighbour: {"other", ""},
		"the agent on node-3, of pool rack": {rackAgent, "node-3"},
	} {
		config := rest.CopyConfig(w.Config)
		config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
		config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + account.name
		config.Impersonate.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace,
			"system:authenticated"}
		if account.node != "" {
			config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {account.node}}
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		w.clients.Store(as, client)
	}
	cluster.Eventually(t, "the policies of gateways are in force", func(ctx context.Context) error {
		for _, probe := range []attempt{
			{as: controller, do: "PATCH " + statusOf("team", "web"),
				body: `{status: {loadBalancer: {ingress: [{ip: 192.0.2.9}]}}}`},
			{as: onNode, do: "PATCH " + leaseOf("node-3"), body: gatewayLease("node-3", "rack")},
		} {
			if err := w.send(ctx, probe); err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
				return fmt.Errorf("%s: %w", probe.do, errors.Join(errors.New("the request is allowed"), err))
			}
		}
		return nil
	})
}

// registerMachine runs the commands of docs/gateways.md for a machine outside of the cluster, and checks the rights
// that they grant.
func (w *world) registerMachine(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "gateways.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, commands, found := strings.Cut(string(text), "<!-- test: e2e/restraint -->\n```sh\n")
	commands, _, ended := strings.Cut(commands, "```")
	if !found || !ended {
		t.Fatal("the page has no such commands")
	}
	if out, err := w.Run(t.Context(), cluster.Program{
		Args: []string{"/bin/bash", "-euo", "pipefail", "-c", commands}}); err != nil {
		t.Fatal(err, out.Stderr)
	}
	for question, want := range map[string]string{
		"update leases.coordination.k8s.io/svc-lb-mux-gateway-far-1": "yes",
		"get leases.coordination.k8s.io/svc-lb-mux-gateway-far-1":    "yes",
		"update leases.coordination.k8s.io/svc-lb-mux-gateway-far-2": "no",
		"create leases.coordination.k8s.io":                          "no",
		"watch configmaps/svc-lb-mux-pool-far":                       "yes",
		"watch configmaps/svc-lb-mux-pool-rack":                      "no",
		"list services --all-namespaces":                             "yes",
		"list endpointslices.discovery.k8s.io --all-namespaces":      "yes",
	} {
		args := append([]string{"auth", "can-i", "--as=system:serviceaccount:" + namespace + ":gateway-far-1",
			"--namespace=" + namespace},
			strings.Fields(question)...)
		if out, _ := w.TryKubectl(t.Context(), "", args...); strings.TrimSpace(out.Stdout) != want {
			t.Errorf("may the machine %s? %s%s, want %s", question, out.Stdout, out.Stderr, want)
		}
	}
}

func statusOf(namespace, service string) string {
	return "/api/v1/namespaces/" + namespace + "/services/" + service + "/status"
}

func leaseOf(gateway string) string { return leases + "/svc-lb-mux-gateway-" + gateway }

func gatewayLease(gateway, pool string) string {
	return "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: svc-lb-mux-gateway-" + gateway +
		", labels: {" + prefix + "/pool: " + pool + "}}}"
}

func shows(ingress string) string { return `{status: {loadBalancer: {ingress: [` + ingress + `]}}}` }

func gatewayAbuses() map[string]attempt {
	edgeStatus := "PATCH " + statusOf("team", "edge")
	return map[string]attempt{
		"an address that kube-proxy takes as its own": {as: controller, do: edgeStatus,
			body: shows(`{ip: 192.0.2.9, ipMode: VIP}`),
			want: "192.0.2.9 with ipMode VIP: each entry has an IP with ipMode Proxy"},
		"an address without ipMode": {as: controller, do: edgeStatus,
			body: shows(`{ip: 192.0.2.9}`), want: "192.0.2.9 with ipMode VIP"},
		"one good address, and a bad": {as: controller, do: edgeStatus,
			body: shows(`{ip: 192.0.2.8, ipMode: Proxy}, {ip: 192.0.2.9, ipMode: VIP}`), want: "ipMode VIP"},
		"a host name": {as: controller, do: edgeStatus,
			body: shows(`{hostname: example.com}`), want: "example.com with ipMode "},
		"an address with a host name": {as: controller, do: edgeStatus,
			body: shows(`{ip: 192.0.2.9, ipMode: Proxy, hostname: example.com}`), want: "each entry has an IP"},
		"an address with ports": {as: controller, do: edgeStatus,
			body: shows(`{ip: 192.0.2.9, ipMode: Proxy, ports: [{port: 80, protocol: TCP}]}`), want: "no ports"},
		"a mux in kube-system": {as: controller, do: "PATCH " + statusOf("kube-system", "edge"),
			body: shows(`{ip: 192.0.2.9, ipMode: Proxy}`), want: "there are no muxes in namespace kube-system"},
		"the Lease of another node": {as: onNode, do: "PATCH " + leaseOf("node-3"),
			body: gatewayLease("node-3", "rack"),
			want: `the agent on node "node-1" may not UPDATE Lease svc-lb-mux-gateway-node-3`},
		"a new Lease of another node": {as: onNode, do: "POST " + leases,
			body: gatewayLease("node-2", "rack"), want: `the agent on node "node-1" may not CREATE`},
		"a foreign Lease": {as: onNode, do: "PATCH " + leases + "/theirs",
			body: lease("theirs", ""), want: "may not UPDATE Lease theirs"},
		"no node": {as: onNoNode, do: "PATCH " + leaseOf("node-1"),
			body: gatewayLease("node-1", "rack"), want: `the agent on node "" may not`},
		"its own Lease, deleted": {as: onNode, do: "DELETE " + leaseOf("node-1"),
			want: `may not DELETE Lease svc-lb-mux-gateway-node-1`},
		"another pool on nodes": {as: onNode, do: "PATCH " + leaseOf("node-1"),
			body: gatewayLease("node-1", "attic"),
			want: `may not name pool "attic" in Lease svc-lb-mux-gateway-node-1: its account is of pool rack`},
		"another pool outside": {as: onNode, do: "PATCH " + leaseOf("node-1"),
			body: gatewayLease("node-1", "far"), want: `may not name pool "far"`},
		"no pool": {as: onNode, do: "PATCH " + leaseOf("node-1"),
			body: `{metadata: {labels: null}}`, want: `may not name pool ""`},
		"a new Lease of another pool": {as: "the agent on node-3, of pool rack", do: "POST " + leases,
			body: gatewayLease("node-3", "attic"), want: `may not name pool "attic"`},
		"outside: another pool": {as: outside, do: "PATCH " + leaseOf("far-1"),
			body: gatewayLease("far-1", "rack"),
			want: `may not change pool "far" of Lease svc-lb-mux-gateway-far-1 to "rack"`},
		"outside: no pool": {as: outside, do: "PATCH " + leaseOf("far-1"),
			body: `{metadata: {labels: null}}`,
			want: `may not change pool "far" of Lease svc-lb-mux-gateway-far-1 to ""`},
		"outside: a further Lease": {as: outside, do: "POST " + leases,
			body: gatewayLease("far-2", "far"),
			want: "may not CREATE Lease svc-lb-mux-gateway-far-2: only an administrator creates"},
		"outside: its Lease, deleted": {as: outside, do: "DELETE " + leaseOf("far-1"),
			want: "may not DELETE Lease svc-lb-mux-gateway-far-1"},
		"outside: all Leases": {as: outside, do: "DELETE " + leases, want: "may not DELETE Lease"},
		"outside: a pool for no Lease": {as: neighbour, do: "POST " + leases,
			body: gatewayLease("x", "rack"), want: "may not CREATE Lease svc-lb-mux-gateway-x"},
	}
}

func gatewayUses() map[string]attempt {
	return map[string]attempt{
		"an address": {as: controller, do: "PATCH " + statusOf("team", "edge"),
			body: shows(`{ip: 192.0.2.9, ipMode: Proxy}, {ip: "2001:db8::1", ipMode: Proxy}`)},
		"no address": {as: controller, do: "PATCH " + statusOf("team", "edge"),
			body: `{status: {loadBalancer: {ingress: null}}}`},
		"a condition": {as: controller, do: "PATCH " + statusOf("team", "edge"),
			body: `{status: {conditions: [` + condition(prefix+"/Addressed") + `]}}`},
		"its Lease": {as: onNode, do: "PATCH " + leaseOf("node-1"), body: gatewayLease("node-1", "rack")},
		"a node in another pool": {as: "the agent on node-3, of pool rack", do: "PATCH " + leaseOf("node-3"),
			body: gatewayLease("node-3", "rack")},
		"outside: its Lease":       {as: outside, do: "PATCH " + leaseOf("far-1"), body: gatewayLease("far-1", "far")},
		"another account's Leases": {as: neighbour, do: "PATCH " + leases + "/theirs", body: lease("theirs", "")},
		"another account's Lease":  {as: neighbour, do: "POST " + leases, body: lease("mine", "")},
	}
}

// foreignAddress: a mux may show an address that somebody else wrote. The controller may write its conditions then, but
// not the address.
func foreignAddress(t *testing.T, w *world) {
	foreign := `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.66","ipMode":"VIP"}]}}}`
	if err := w.Client.CoreV1().RESTClient().Patch("application/merge-patch+json").AbsPath(statusOf("team",
		"edge")).Body([]byte(foreign)).
		Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	status := "PATCH " + statusOf("team", "edge")
	w.try(t, map[string]attempt{
		"another bad address": {as: controller, do: status,
			body: shows(`{ip: 192.0.2.66, ipMode: VIP}, {ip: 192.0.2.67, ipMode: VIP}`), want: "ipMode VIP"},
	}, map[string]attempt{
		"a condition": {as: controller, do: status,
			body: `{status: {conditions: [` + condition(prefix+"/Addressed") + `]}}`},
		"a good address":     {as: controller, do: status, body: shows(`{ip: 192.0.2.9, ipMode: Proxy}`)},
		"the address is hid": {as: controller, do: status, body: `{status: {loadBalancer: {ingress: null}}}`},
	})
}
