package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestEgress renders the connections that each process may make. Without the setting, the policies don't limit them.
func TestEgress(t *testing.T) {
	const on = "networkPolicy.egress.enabled=true"
	apiServer := "anywhere 443 6443"
	webhook := "app.kubernetes.io/instance=svc-mux,app.kubernetes.io/name=svc-mux-webhook reviews"
	for name, tc := range map[string]struct {
		flags               string
		reconciler, webhook []string
	}{
		"off": {"networkPolicy.egress.enabled=false", nil, nil},
		"on":  {on, []string{apiServer, webhook}, []string{apiServer}},
		"with the API server's address": {on +
			",networkPolicy.egress.apiServer[0].ipBlock.cidr=10.0.0.1/32,networkPolicy.egress.apiServerPorts={8443}",
			[]string{"10.0.0.1/32 8443", webhook}, []string{"10.0.0.1/32 8443"}},
		"a webhook without predictions": {on + ",webhook.predictions.enabled=false", []string{apiServer, webhook},
			[]string{}},
		"a console that tests connections": {on + ",debugWeb.actions.enabled=true",
			[]string{apiServer, webhook, "anywhere 1-65535"}, []string{apiServer}},
		"actions of a console that is off": {on + ",debugWeb.enabled=false,debugWeb.actions.enabled=true",
			[]string{apiServer, webhook}, []string{apiServer}},
		"with an additional rule": {on + ",networkPolicy.egress.more[0].ports[0].port=53",
			[]string{apiServer, webhook, "anywhere 53"}, []string{apiServer, "anywhere 53"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, "--set="+tc.flags)
			for policy, want := range map[string][]string{"svc-mux": tc.reconciler, "svc-mux-webhook": tc.webhook} {
				if diff := cmp.Diff(want, egressOf(named[*networkingv1.NetworkPolicy](t, objects, policy))); diff != "" {
					t.Errorf("%s may connect to (-want +got):\n%s", policy, diff)
				}
			}
		})
	}
}

// egressOf returns nil if the policy doesn't limit connections from its pods.
func egressOf(policy *networkingv1.NetworkPolicy) []string {
	if len(policy.Spec.PolicyTypes) < 2 {
		return nil
	}
	rules := []string{}
	for _, rule := range policy.Spec.Egress {
		var words []string
		for _, to := range rule.To {
			switch {
			case to.IPBlock != nil:
				words = append(words, to.IPBlock.CIDR)
			case to.PodSelector != nil:
				words = append(words, labelsOf(to.PodSelector.MatchLabels))
			}
		}
		if len(rule.To) == 0 {
			words = append(words, "anywhere")
		}
		for _, port := range rule.Ports {
			text := port.Port.String()
			if port.EndPort != nil {
				text += fmt.Sprintf("-%d", *port.EndPort)
			}
			words = append(words, text)
		}
		rules = append(rules, strings.Join(words, " "))
	}
	return rules
}

func labelsOf(labels map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, key+"="+labels[key])
	}
	return strings.Join(words, ",")
}

// TestReviewRightsAreForReviewsAlone checks that the reconciler may review tokens and access only if its console needs
// that.
func TestReviewRightsAreForReviewsAlone(t *testing.T) {
	asked := func(flags ...string) []string {
		var resources []string
		objects := render(t, flags...)
		for _, role := range all[*rbacv1.ClusterRole](objects) {
			for _, rule := range role.Rules {
				resources = append(resources, reviewsOf(rule)...)
			}
		}
		for _, role := range all[*rbacv1.Role](objects) {
			for _, rule := range role.Rules {
				resources = append(resources, reviewsOf(rule)...)
			}
		}
		return resources
	}
	if got := asked(); got != nil {
		t.Errorf("by default the reconciler may create %v", got)
	}
	if got := asked("--set=debugWeb.auth.mode=kubernetes,debugWeb.enabled=false"); got != nil {
		t.Errorf("without a console the reconciler may create %v", got)
	}
	want := []string{"tokenreviews create", "localsubjectaccessreviews create"}
	if diff := cmp.Diff(want, asked("--set=debugWeb.auth.mode=kubernetes")); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
}

func reviewsOf(rule rbacv1.PolicyRule) []string {
	var all []string
	for _, resource := range rule.Resources {
		if strings.HasSuffix(resource, "reviews") {
			all = append(all, resource+" "+strings.Join(rule.Verbs, ","))
		}
	}
	return all
}

// TestPoliciesAdmitThePortsOfServices: each policy admits exactly the ports that the Services of its pods name, and the
// pods serve them under these names. No test sends packets against the policies: the networks of the test clusters
// enforce none.
func TestPoliciesAdmitThePortsOfServices(t *testing.T) {
	for name, flags := range map[string][]string{
		"by default":               nil,
		"a console behind a token": {"--set=debugWeb.auth.mode=kubernetes"},
		"no console":               {"--set=debugWeb.enabled=false"},
		"limits in both ways": {
			"--set=networkPolicy.egress.enabled=true,networkPolicy.reviewsFrom[0].ipBlock.cidr=10.0.0.1/32"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, flags...)
			for _, process := range []string{"svc-mux", "svc-mux-webhook"} {
				pod := named[*appsv1.Deployment](t, objects, process).Spec.Template
				var served, admitted []string
				for _, service := range all[*corev1.Service](objects) {
					if len(service.Spec.Selector) == 0 ||
						!labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
						continue
					}
					for _, port := range service.Spec.Ports {
						served = append(served, port.TargetPort.String())
					}
				}
				for _, rule := range named[*networkingv1.NetworkPolicy](t, objects, process).Spec.Ingress {
					if len(rule.Ports) == 0 {
						t.Errorf("%s admits all ports", process)
					}
					for _, port := range rule.Ports {
						admitted = append(admitted, port.Port.String())
					}
				}
				slices.Sort(served)
				slices.Sort(admitted)
				if diff := cmp.Diff(served, admitted); diff != "" || len(served) == 0 {
					t.Errorf("%s admits (-want +got):\n%s", process, diff)
				}
				for _, port := range admitted {
					if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool {
						return p.Name == port
					}) {
						t.Errorf("%s serves no port %s", process, port)
					}
				}
			}
		})
	}
}

// TestRulesToThePodsOfTheWebhookFindThem: a rule that names pods of the release finds them, and the port by its name.
func TestRulesToThePodsOfTheWebhookFindThem(t *testing.T) {
	objects := render(t, "--set=networkPolicy.egress.enabled=true")
	found := 0
	for _, rule := range named[*networkingv1.NetworkPolicy](t, objects, "svc-mux").Spec.Egress {
		for _, to := range rule.To {
			if to.PodSelector == nil {
				continue
			}
			pod := named[*appsv1.Deployment](t, objects, "svc-mux-webhook").Spec.Template
			port := rule.Ports[0].Port.String()
			if labels.SelectorFromSet(to.PodSelector.MatchLabels).Matches(labels.Set(pod.Labels)) &&
				slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == port }) {
				found++
			}
		}
	}
	if found != 1 {
		t.Errorf("%d rules let the reconciler connect to the webhook's pods, want 1", found)
	}
}
