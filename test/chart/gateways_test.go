package chart

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

// pools sets two pools: one on nodes, one on machines outside of the cluster.
const pools = `--set-json=gateways.pools=[
	{"name": "rack", "addresses": ["192.0.2.0/24"], "exclude": ["192.0.2.1"], "routerIDs": [51, "60-62"],
	 "returnPath": "routed", "nodeSelector": {"rack": "a"}, "tolerations": [{"operator": "Exists"}],
	 "interface": "eth1", "backendNetworks": ["10.0.0.0/8"], "vrrpUnicast": true,
	 "advertInterval": "200ms", "probeBackends": "2s", "releaseGrace": "10m"},
	{"name": "far", "addresses": ["198.51.100.0/24"], "announce": "none", "machines": "outside", "muxesPerNamespace": 20,
	 "maxCapacity": 4, "gateways": {"names": ["far-1"]}}]`

// TestGatewaysAreOffByDefault checks that no object of gateways is rendered without a pool.
func TestGatewaysAreOffByDefault(t *testing.T) {
	for _, object := range render(t, "--set=monitoring.serviceMonitor.enabled=true,networkPolicy.egress.enabled=true") {
		if name := object.(metav1.Object).GetName(); strings.Contains(name, "gateway") {
			t.Errorf("%T %s is rendered without a pool", object, name)
		}
	}
}

// TestControllerReadsThePoolsOfTheValues parses the rendered file of pools as the controller does.
func TestControllerReadsThePoolsOfTheValues(t *testing.T) {
	objects := render(t, pools)
	file := named[*corev1.ConfigMap](t, objects, "svc-mux-gateways").Data["pools.yaml"]
	got, err := config.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[1].Name != "rack" || got[1].ReturnPath != "routed" ||
		!slices.Equal(got[1].RouterIDs, []uint8{51, 60, 61, 62}) ||
		got[1].AdvertInterval != 200*time.Millisecond || !slices.Equal(got[0].Gateways.Names, []string{"far-1"}) ||
		got[0].MuxesPerNamespace != 20 || got[1].MuxesPerNamespace != 256 ||
		got[0].MaxCapacity != 4 || got[0].ProbesBackends || !got[1].ProbesBackends {
		t.Errorf("the pools are %+v", got)
	}
	var raw struct{ Pools []map[string]any }
	if err := yaml.Unmarshal([]byte(file), &raw); err != nil {
		t.Fatal(err)
	}
	controller := named[*appsv1.Deployment](t, objects, "svc-mux-gateways")
	changed := named[*appsv1.Deployment](t, render(t, strings.Replace(pools, "192.0.2.1", "192.0.2.2", 1)),
		"svc-mux-gateways")
	if cmp.Equal(controller.Spec.Template, changed.Spec.Template) {
		t.Error("a changed pool doesn't restart the controller")
	}
}

// TestAgentsHaveTwoCapabilities checks the pods that work in their nodes' network: they run as root with two
// capabilities, a read-only root file system, and one folder of the node.
func TestAgentsHaveTwoCapabilities(t *testing.T) {
	sets := all[*appsv1.DaemonSet](render(t, pools))
	if len(sets) != 1 || sets[0].Name != "svc-mux-gateway-rack" {
		t.Fatalf("%d DaemonSets, want one for the pool on nodes", len(sets))
	}
	pod := sets[0].Spec.Template.Spec
	context := pod.Containers[0].SecurityContext
	if diff := cmp.Diff(&corev1.Capabilities{Drop: []corev1.Capability{"ALL"},
		Add: []corev1.Capability{"NET_ADMIN", "NET_RAW"}},
		context.Capabilities); diff != "" || *context.AllowPrivilegeEscalation || !*context.ReadOnlyRootFilesystem ||
		context.Privileged != nil {
		t.Errorf("the security context is %+v\n%s", context, diff)
	}
	if !pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.Volumes) != 1 ||
		pod.Volumes[0].HostPath.Path != "/var/lib/svc-lb-mux-gateway" {
		t.Errorf("the pod shares %+v with its node", pod)
	}
	if !pod.Containers[0].Resources.Limits.Cpu().IsZero() {
		t.Error("the agent has a CPU limit")
	}
	want := []string{"agent", "--api-prefix=svc-mux.nowake.ai", "--namespace=infra", "--pool=rack", "--zone=$(ZONE)",
		"--probe-address=:8082", "--interface=eth1", "--return-path=routed", "--backend-networks=10.0.0.0/8",
		"--vrrp-unicast", "--advert-interval=200ms", "--probe-backends=2s"}
	if diff := cmp.Diff(want, pod.Containers[0].Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if pod.NodeSelector["rack"] != "a" || len(pod.Tolerations) != 1 {
		t.Errorf("the pods go to nodes %v, with tolerations %v", pod.NodeSelector, pod.Tolerations)
	}
	args := all[*appsv1.DaemonSet](render(t, pools,
		"--set=gateways.agent.goodbye=true"))[0].Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--goodbye") {
		t.Errorf("gateways.agent.goodbye gives %v", args)
	}
}

func TestRightsOfGatewaysFollowMuxNamespaces(t *testing.T) {
	objects := render(t, pools, "--set=rbac.muxNamespaces={infra,team-a}")
	for _, role := range all[*rbacv1.ClusterRole](objects) {
		if strings.Contains(role.Name, "gateway") {
			t.Errorf("%s is a right in the whole cluster", role.Name)
		}
	}
	var found []string
	for _, role := range all[*rbacv1.Role](objects) {
		if strings.Contains(role.Name, "gateway") {
			found = append(found, role.Namespace+"/"+role.Name)
		}
	}
	slices.Sort(found)
	want := []string{"infra/svc-mux-gateway-far", "infra/svc-mux-gateway-rack", "infra/svc-mux-gateways",
		"infra/svc-mux.infra.gateway-agents", "infra/svc-mux.infra.gateways",
		"team-a/svc-mux.infra.gateway-agents", "team-a/svc-mux.infra.gateways"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	for _, object := range render(t, pools, "--set=rbac.create=false") {
		switch object.(type) {
		case *rbacv1.Role, *rbacv1.ClusterRole, *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
			t.Errorf("rbac.create=false renders %T %s", object, object.(metav1.Object).GetName())
		}
	}
	for _, policy := range all[*admissionv1.ValidatingAdmissionPolicy](render(t, pools, "--set=restraint.enabled=false")) {
		if strings.Contains(policy.Name, "restraint") {
			t.Errorf("restraint.enabled=false renders %s", policy.Name)
		}
	}
}

// TestEachPoolHasAnAccount checks that agents read the claims of their own pool only. A policy limits their Leases by
// the account.
func TestEachPoolHasAnAccount(t *testing.T) {
	objects := render(t, pools)
	for _, set := range all[*appsv1.DaemonSet](objects) {
		if account := set.Spec.Template.Spec.ServiceAccountName; account != set.Name {
			t.Errorf("the agents of %s have the account %s", set.Name, account)
		}
		named[*corev1.ServiceAccount](t, objects, set.Name)
	}
	for pool, want := range map[string][]string{"rack": {"get", "create", "update"}, "far": nil} {
		var leases []string
		for _, rule := range named[*rbacv1.Role](t, objects, "svc-mux-gateway-"+pool).Rules {
			switch rule.Resources[0] {
			case "leases":
				leases = rule.Verbs
			case "configmaps":
				if !slices.Equal(rule.ResourceNames, []string{"svc-lb-mux-pool-" + pool}) {
					t.Errorf("agents of %s read the ConfigMaps %v", pool, rule.ResourceNames)
				}
			}
		}
		if !slices.Equal(leases, want) {
			t.Errorf("the role of %s has the verbs %v for Leases", pool, leases)
		}
	}
	for _, binding := range all[*rbacv1.ClusterRoleBinding](objects) {
		if binding.Name == "svc-mux.infra.gateway-agents" &&
			(len(binding.Subjects) != 1 || binding.Subjects[0].Name != "svc-mux-gateway-rack") {
			t.Errorf("%s has the subjects %v", binding.Name, binding.Subjects)
		}
	}
}

func TestGatewayValuesAreChecked(t *testing.T) {
	for name, test := range map[string]struct{ flag, want string }{
		"a pool twice": {
			`--set-json=gateways.pools=[{"name":"p","addresses":["192.0.2.0/24"],"announce":"none"},{"name":"p",` +
				`"addresses":["198.51.100.0/24"],"announce":"none"}]`,
			`gateways.pools has "p" twice`,
		},
		"no router ID": {`--set-json=gateways.pools=[{"name":"p","addresses":["192.0.2.0/24"]}]`,
			`pool "p" has no routerIDs`},
		"a way back without networks": {
			`--set-json=gateways.pools=[{"name":"p","addresses":["192.0.2.0/24"],"announce":"none","returnPath":"routed"}]`,
			`pool "p" has returnPath: routed and no backendNetworks`,
		},
		"no address": {`--set-json=gateways.pools=[{"name":"p","announce":"none"}]`, `'addresses'`},
		"an unknown key": {`--set-json=gateways.pools=[{"name":"p","addresses":["192.0.2.0/24"],"vrrp":true}]`,
			`'vrrp'`},
		"values of an old chart": {
			`--set-json=gateways={"pools":[{"name":"p","addresses":["192.0.2.0/24"],"announce":"none"}],"agent":null}`,
			`--reset-then-reuse-values`},
	} {
		t.Run(name, func(t *testing.T) { says(t, refused(t, test.flag), test.want) })
	}
}

// TestDefaultMuxOfAPool checks that a default mux on gateways has no node ports, and nothing of GKE.
func TestDefaultMuxOfAPool(t *testing.T) {
	mux := named[*corev1.Service](t,
		render(t, pools, "--set=defaultLoadBalancer.loadBalancerClass=gateway.svc-mux.nowake.ai/rack"), "mux")
	if *mux.Spec.LoadBalancerClass != "gateway.svc-mux.nowake.ai/rack" || *mux.Spec.AllocateLoadBalancerNodePorts {
		t.Errorf("the mux is %+v", mux.Spec)
	}
	if mark := mux.Annotations["cloud.google.com/l4-rbs"]; mark != "" {
		t.Errorf("the mux has GKE's annotation %q", mark)
	}
}
