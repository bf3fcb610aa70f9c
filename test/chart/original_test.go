package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

const originals = "--values=testdata/original.yaml"

func TestTheOriginalsValuesReachTheReconciler(t *testing.T) {
	objects := render(t, originals)
	d := named[*appsv1.Deployment](t, objects, "svc-mux")
	spec := d.Spec.Template.Spec
	container := spec.Containers[0]
	got := map[string]any{
		"replicas": *d.Spec.Replicas, "account": spec.ServiceAccountName, "secrets": spec.ImagePullSecrets,
		"annotations": d.Spec.Template.Annotations, "team": d.Spec.Template.Labels["example.com/team"],
		"group": *spec.SecurityContext.FSGroup, "user": *container.SecurityContext.RunAsUser,
		"cpu": container.Resources.Limits.Cpu().String(), "volumes": spec.Volumes[0].Name,
		"mounts": container.VolumeMounts[0].MountPath,
		"nodes":  spec.NodeSelector, "tolerations": spec.Tolerations, "pool": spec.Affinity.NodeAffinity != nil,
	}
	want := map[string]any{
		"replicas": int32(1), "account": "operator", "secrets": []corev1.LocalObjectReference{{Name: "pull"}},
		"annotations": map[string]string{"example.com/note": "pod"}, "team": "network",
		"group": int64(2000), "user": int64(1000), "cpu": "500m", "volumes": "scratch", "mounts": "/scratch",
		"nodes":       map[string]string{"kubernetes.io/os": "linux"},
		"tolerations": []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}, "pool": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !*spec.SecurityContext.RunAsNonRoot || !*container.SecurityContext.ReadOnlyRootFilesystem {
		t.Error("a partial security context isn't completed with the restricted defaults")
	}
	role := named[*rbacv1.ClusterRole](t, objects, "svc-mux.infra")
	if last := role.Rules[len(role.Rules)-1]; !slices.Equal(last.Resources, []string{"widgets"}) {
		t.Errorf("the role's last rule is %v", last)
	}
	account := named[*corev1.ServiceAccount](t, objects, "operator")
	if account.Annotations["example.com/role"] != "operator" {
		t.Errorf("the account's annotations: %v", account.Annotations)
	}
}

func TestTheOriginalsEnvironmentReachesTheReconciler(t *testing.T) {
	objects := render(t, originals)
	want := map[string]string{
		"GOMEMLIMIT": "184320KiB", "API_PREFIX": "mux.example.com", "DEFAULT_MUX_NAMESPACE": "muxes", "DRYRUN_MODE": "true",
		"SVC_LB_MUX_DEBUG": "1", "DEBUG_WEB_AUTH_TOKEN": "secret",
	}
	got := map[string]string{}
	for _, env := range named[*appsv1.Deployment](t, objects, "svc-mux").Spec.Template.Spec.Containers[0].Env {
		got[env.Name] = env.Value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, deployment := range []string{"svc-mux", "svc-mux-webhook"} {
		if list := args(t, objects, deployment); !slices.Contains(list, "--default-mux-namespace=muxes") {
			t.Errorf("%s gets another default namespace for classes: %v", deployment, list)
		}
	}
	byName := render(t, "--set=env.DEFAULT_MUX_NAMESPACE=muxes,env.DRYRUN_MODE=true")
	if list := args(t, byName, "svc-mux-webhook"); !slices.Contains(list, "--default-mux-namespace=muxes") {
		t.Errorf("the chart ignores an environment that is a map: %v", list)
	}
}

// TestNothingOfAPythonProcessIsPassedOn looks for values that only make sense for the Python process.
func TestNothingOfAPythonProcessIsPassedOn(t *testing.T) {
	objects := render(t, originals)
	for _, pod := range podsOf(objects) {
		for _, container := range pod.spec.Containers {
			if len(container.Command) > 0 || container.StartupProbe != nil {
				t.Errorf("%s runs %v, with the probe %v", pod.owner, container.Command, container.StartupProbe)
			}
		}
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"--standalone", "main.py", "python", "0.1.2", "NodePort\n", "port: health",
			"startupProbe"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%q is rendered in\n%s", word, text)
			}
		}
	}
}

func TestTheOriginalsMux(t *testing.T) {
	objects := render(t, originals)
	got := named[*corev1.Service](t, objects, "edge")
	want := &corev1.Service{TypeMeta: got.TypeMeta}
	want.Name = "edge"
	want.Labels = map[string]string{
		"app.kubernetes.io/name": "svc-mux-mux", "app.kubernetes.io/instance": "svc-mux",
		"app.kubernetes.io/managed-by": "Helm",
		"example.com/team":             "network",
	}
	want.Annotations = map[string]string{
		"mux.example.com/multiplexer": "true", "mux.example.com/port-range": "30000-30009,31000",
		"mux.example.com/max-ports":            "50",
		"mux.example.com/allocation-configmap": "edge-state", "helm.sh/resource-policy": "keep",
		"example.com/static": "yes", "cloud.google.com/l4-rbs": "enabled",
	}
	want.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: "203.0.113.7",
		LoadBalancerClass:             ptr.To("networking.gke.io/l4-regional-external"),
		AllocateLoadBalancerNodePorts: ptr.To(false), ExternalTrafficPolicy: "Local",
		InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyCluster),
		Ports:                 []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: "TCP"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMuxAnnotationsOfAProvider(t *testing.T) {
	ours := map[string]string{
		"svc-mux.nowake.ai/multiplexer": "true", "svc-mux.nowake.ai/port-range": "20000-20099",
		"svc-mux.nowake.ai/max-ports": "100",
		"helm.sh/resource-policy":     "keep",
	}
	const awsType, awsTarget = "service.beta.kubernetes.io/aws-load-balancer-type",
		"service.beta.kubernetes.io/aws-load-balancer-nlb-target-type"
	for provider, c := range map[string]struct {
		values string
		want   map[string]string
	}{
		"null": {"", map[string]string{"cloud.google.com/l4-rbs": "enabled"}},
		"gke": {"annotations=null",
			map[string]string{"svc-mux.nowake.ai/provider": "gke", "cloud.google.com/l4-rbs": "enabled"}},
		"aws":   {"", map[string]string{"svc-mux.nowake.ai/provider": "aws", awsType: "external", awsTarget: "instance"}},
		"azure": {"", map[string]string{"svc-mux.nowake.ai/provider": "azure"}},
		"none":  {"annotations.example=x", map[string]string{"svc-mux.nowake.ai/provider": "none", "example": "x"}},
	} {
		t.Run(provider, func(t *testing.T) {
			flags := []string{"--set=defaultLoadBalancer.provider=" + provider}
			if c.values != "" {
				flags = append(flags, "--set=defaultLoadBalancer."+c.values)
			}
			want := maps.Clone(ours)
			maps.Copy(want, c.want)
			if diff := cmp.Diff(want, named[*corev1.Service](t, render(t, flags...), "mux").Annotations); diff != "" {
				t.Errorf("the mux's annotations (-want +got):\n%s", diff)
			}
		})
	}
	target := `--set=defaultLoadBalancer.provider=aws,` +
		`defaultLoadBalancer.annotations.service\.beta\.kubernetes\.io/aws-load-balancer-nlb-target-type=ip`
	if got := named[*corev1.Service](t, render(t, target), "mux").Annotations[awsTarget]; got != "ip" {
		t.Errorf("the target type of the values is lost: %s", got)
	}
}

// TestMuxOnGatewaysHasNothingOfAProvider gives the mux of a pool the values of each provider: neither their annotations
// nor GKE's 100 ports are for our own machines. A cap that somebody sets stays.
func TestMuxOnGatewaysHasNothingOfAProvider(t *testing.T) {
	for _, provider := range []string{"null", "gke", "aws", "azure", "none"} {
		for maxPorts, want := range map[string]string{"auto": "", "100": "100", "null": ""} {
			flags := "--set=defaultLoadBalancer.loadBalancerClass=gateway.svc-mux.nowake.ai/rack,defaultLoadBalancer.provider=" +
				provider
			if maxPorts != "auto" {
				flags += ",defaultLoadBalancer.maxPorts=" + maxPorts
			}
			mux := named[*corev1.Service](t, render(t, pools, flags), "mux")
			all := map[string]string{"svc-mux.nowake.ai/multiplexer": "true", "svc-mux.nowake.ai/port-range": "20000-20099",
				"helm.sh/resource-policy": "keep"}
			if want != "" {
				all["svc-mux.nowake.ai/max-ports"] = want
			}
			if diff := cmp.Diff(all, mux.Annotations); diff != "" {
				t.Errorf("provider %s, maxPorts %s: the mux's annotations (-want +got):\n%s", provider, maxPorts, diff)
			}
		}
	}
}

func TestTheMuxByDefault(t *testing.T) {
	mux := named[*corev1.Service](t, render(t), "mux")
	want := map[string]string{
		"svc-mux.nowake.ai/multiplexer": "true", "svc-mux.nowake.ai/port-range": "20000-20099",
		"svc-mux.nowake.ai/max-ports": "100",
		"helm.sh/resource-policy":     "keep", "cloud.google.com/l4-rbs": "enabled",
	}
	if diff := cmp.Diff(want, mux.Annotations); diff != "" {
		t.Errorf("the mux's annotations (-want +got):\n%s", diff)
	}
	if mux.Spec.AllocateLoadBalancerNodePorts != nil || mux.Spec.LoadBalancerClass != nil ||
		mux.Spec.ExternalTrafficPolicy != "" {
		t.Errorf("the mux has fields that no value sets: %+v", mux.Spec)
	}
	elsewhere := named[*corev1.Service](t,
		render(t, `--set=defaultLoadBalancer.annotations.cloud\.google\.com/l4-rbs=null,`+
			"defaultLoadBalancer.maxPorts=null"), "mux")
	if len(elsewhere.Annotations) != 3 {
		t.Errorf("null doesn't remove an annotation: %v", elsewhere.Annotations)
	}
}
