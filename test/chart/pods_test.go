package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// everything switches on what is off by default, and sets two replicas where the default is one.
func everything() []string {
	return []string{"--set=replicaCount=2,drain.onDelete=true,policy.enabled=true", pools}
}

// TestPodsAreRestricted checks the restricted Pod Security Standard, and a read-only root file system.
func TestPodsAreRestricted(t *testing.T) {
	pods := podsOf(render(t, everything()...))
	if len(pods) < 3 {
		t.Fatalf("%d pods, want webhook, reconciler and test", len(pods))
	}
	for _, pod := range pods {
		if strings.HasPrefix(pod.owner, "DaemonSet ") {
			continue // agents of gateways: see TestAgentsHaveTwoCapabilities
		}
		t.Run(pod.owner, func(t *testing.T) {
			context := pod.spec.SecurityContext
			if context == nil || context.RunAsNonRoot == nil || !*context.RunAsNonRoot ||
				context.SeccompProfile == nil || context.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("the pod's security context is %v", context)
			}
			if pod.spec.HostNetwork || pod.spec.HostPID || pod.spec.HostIPC {
				t.Error("the pod shares namespaces of the host")
			}
			if pod.spec.AutomountServiceAccountToken == nil {
				t.Error("automountServiceAccountToken isn't set")
			}
			for _, container := range slices.Concat(pod.spec.InitContainers, pod.spec.Containers) {
				restricted(t, container)
			}
		})
	}
}

func restricted(t *testing.T, container corev1.Container) {
	t.Helper()
	context := container.SecurityContext
	if context == nil || context.AllowPrivilegeEscalation == nil || *context.AllowPrivilegeEscalation ||
		context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem || context.Capabilities == nil ||
		!slices.Equal(context.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(context.Capabilities.Add) > 0 {
		t.Errorf("the security context of %s: %v", container.Name, context)
	}
	if container.Resources.Requests.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() {
		t.Errorf("the resources of %s: %v", container.Name, container.Resources)
	}
}

// TestEachSelectorFindsItsOwn checks that selectors match only the pods of their process. A reconciler's Service that
// matched the webhook's pods would send them its traffic, and a Deployment that matched them would adopt them.
func TestEachSelectorFindsItsOwn(t *testing.T) {
	objects := render(t, everything()...)
	owners := map[string]string{ // selector to the workload whose pods it must match
		"Deployment svc-mux": "svc-mux", "Service svc-mux": "svc-mux", "PodDisruptionBudget svc-mux": "svc-mux",
		"NetworkPolicy svc-mux": "svc-mux", "Deployment svc-mux-webhook": "svc-mux-webhook",
		"Service svc-mux-webhook": "svc-mux-webhook", "PodDisruptionBudget svc-mux-webhook": "svc-mux-webhook",
		"NetworkPolicy svc-mux-webhook": "svc-mux-webhook", "Deployment svc-mux-gateways": "svc-mux-gateways",
		"Service svc-mux-gateways": "svc-mux-gateways", "PodDisruptionBudget svc-mux-gateways": "svc-mux-gateways",
		"NetworkPolicy svc-mux-gateways": "svc-mux-gateways", "DaemonSet svc-mux-gateway-rack": "svc-mux-gateway-rack",
		"Service svc-mux-gateway-agents": "svc-mux-gateway-rack",
	}
	for name, selector := range selectors(t, objects) {
		owner, known := owners[name]
		if !known {
			t.Errorf("%s is new: add the workload whose pods it must match", name)
			continue
		}
		delete(owners, name)
		for _, pod := range podsOf(objects) {
			if selector.Matches(labels.Set(pod.labels)) != strings.HasSuffix(pod.owner, " "+owner) {
				t.Errorf("%s wrongly matches, or misses, the pods of %s", name, pod.owner)
			}
		}
	}
	for name := range owners {
		t.Errorf("there is no %s", name)
	}
}

func selectors(t *testing.T, objects []runtime.Object) map[string]labels.Selector {
	t.Helper()
	found := map[string]labels.Selector{}
	add := func(name string, selector *metav1.LabelSelector) {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = parsed
	}
	for _, d := range all[*appsv1.Deployment](objects) {
		add("Deployment "+d.Name, d.Spec.Selector)
	}
	for _, d := range all[*appsv1.DaemonSet](objects) {
		add("DaemonSet "+d.Name, d.Spec.Selector)
	}
	for _, s := range all[*corev1.Service](objects) {
		if len(s.Spec.Selector) > 0 {
			add("Service "+s.Name, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		}
	}
	for _, b := range all[*policyv1.PodDisruptionBudget](objects) {
		add("PodDisruptionBudget "+b.Name, b.Spec.Selector)
	}
	for _, p := range all[*networkingv1.NetworkPolicy](objects) {
		add("NetworkPolicy "+p.Name, &p.Spec.PodSelector)
	}
	return found
}

func TestDeploymentKeepsTheOriginalsSelector(t *testing.T) {
	for name, tc := range map[string]struct {
		release string
		set     string
		want    string
		labels  map[string]string
	}{
		"a release with the chart's name": {"svc-mux", "", "svc-mux", selects("svc-mux", "svc-mux")},
		"another release":                 {"edge", "", "edge-svc-mux", selects("svc-mux", "edge")},
		"another application name":        {"edge", "nameOverride=ports", "edge-ports", selects("ports", "edge")},
		"a full name":                     {"edge", "fullnameOverride=ports", "ports", selects("svc-mux", "edge")},
	} {
		t.Run(name, func(t *testing.T) {
			d := named[*appsv1.Deployment](t, renderAs(t, tc.release, namespace, "--set="+tc.set), tc.want)
			if diff := cmp.Diff(tc.labels, d.Spec.Selector.MatchLabels); diff != "" {
				t.Errorf("the Deployment's selector (-want +got):\n%s", diff)
			}
			if own := d.Spec.Template.Labels["svc-mux.nowake.ai/leader-election"]; own != "lease" {
				t.Errorf("the pods have the election label %q", own)
			}
		})
	}
}

// TestLongNamesMakeValidSelectors has names around the limit of a label. If a name could be installed before, its
// selectors must not change.
func TestLongNamesMakeValidSelectors(t *testing.T) {
	for _, length := range []int{54, 55, 63} {
		name := strings.Repeat("n", length)
		for part, want := range map[string]string{"webhook": name[:min(length, 55)] + "-webhook",
			"gateways": name[:54] + "-gateways"} {
			found := selectors(t, render(t, append(everything(), "--set=nameOverride="+name+",fullnameOverride=x")...))
			if got, _ := found["Deployment x-"+part].RequiresExactMatch("app.kubernetes.io/name"); got != want {
				t.Errorf("with %d characters, the pods of %s have the name %q, want %q", length, part, got, want)
			}
		}
	}
}

// TestPredecessorsAreAllPodsOfTheDeploymentButOurs checks the selector for predecessors: pods of the original and of
// earlier versions share the Deployment's selector.
func TestPredecessorsAreAllPodsOfTheDeploymentButOurs(t *testing.T) {
	objects := renderAs(t, "edge", namespace, "--set=nameOverride=ports,podLabels.app\\.kubernetes\\.io/component=edge")
	pods := named[*appsv1.Deployment](t, objects, "edge-ports").Spec.Template.Labels
	var selector labels.Selector
	for _, arg := range args(t, objects, "edge-ports") {
		if text, is := strings.CutPrefix(arg, "--predecessors="); is {
			var err error
			if selector, err = labels.Parse(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	original := labels.Set(selects("ports", "edge"))
	webhook := labels.Set(named[*appsv1.Deployment](t, objects, "edge-ports-webhook").Spec.Template.Labels)
	if selector == nil || !selector.Matches(original) || selector.Matches(labels.Set(pods)) || selector.Matches(webhook) {
		t.Errorf("--predecessors=%v", selector)
	}
}

// TestReconcilerSurvivesTheLossOfANode checks that two reconcilers run on separate nodes if possible, and that one of
// them stays through rollouts and drains.
func TestReconcilerSurvivesTheLossOfANode(t *testing.T) {
	objects := render(t)
	d := named[*appsv1.Deployment](t, objects, "svc-mux")
	if *d.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *d.Spec.Replicas)
	}
	// The API server refuses a rollback to strategy Recreate unless the rollback removes these fields. Helm removes
	// only fields that the manifest sets.
	update := d.Spec.Strategy.RollingUpdate
	if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || update == nil || update.MaxSurge == nil ||
		update.MaxUnavailable == nil {
		t.Fatalf("the strategy is %v", d.Spec.Strategy)
	}
	for replicas, want := range map[int]int{1: 0, 2: 1, 3: 1} {
		if missing, err := intstr.GetScaledValueFromIntOrPercent(update.MaxUnavailable, replicas, false); missing != want ||
			err != nil {
			t.Errorf("of %d replicas %d may be unavailable: %v", replicas, missing, err)
		}
	}
	if budget := named[*policyv1.PodDisruptionBudget](t, objects, "svc-mux"); budget.Spec.MinAvailable.IntValue() != 1 {
		t.Errorf("the disruption budget is %v", budget.Spec)
	}
	apart := d.Spec.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(apart) != 1 || apart[0].PodAffinityTerm.TopologyKey != corev1.LabelHostname ||
		cmp.Diff(d.Spec.Selector, apart[0].PodAffinityTerm.LabelSelector) != "" ||
		!slices.Equal(apart[0].PodAffinityTerm.MatchLabelKeys, []string{appsv1.DefaultDeploymentUniqueLabelKey}) {
		t.Errorf("the anti-affinity is %v", apart)
	}
	own := named[*appsv1.Deployment](t, render(t, "--set-json=affinity={\"nodeAffinity\":{}}"),
		"svc-mux").Spec.Template.Spec.Affinity
	if own.PodAntiAffinity != nil || own.NodeAffinity == nil {
		t.Errorf("the user's affinity becomes %v", own)
	}
}

func selects(name, instance string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": instance}
}

func TestTheWebhookHasNoTokenUnlessItPredicts(t *testing.T) {
	for _, on := range []bool{true, false} {
		set := "--set=webhook.predictions.enabled=false"
		if on {
			set = "--set=webhook.predictions.enabled=true"
		}
		spec := named[*appsv1.Deployment](t, render(t, set), "svc-mux-webhook").Spec.Template.Spec
		if *spec.AutomountServiceAccountToken != on {
			t.Errorf("%s: token %v", set, *spec.AutomountServiceAccountToken)
		}
	}
}
