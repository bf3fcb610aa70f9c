package chart

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// monitored switches on everything for monitoring.
var monitored = []string{
	"--set=monitoring.serviceMonitor.enabled=true", "--set=monitoring.rules.enabled=true",
	"--set=monitoring.dashboard.enabled=true",
}

// TestMonitoringIsOffByDefault checks that the default install needs no Prometheus operator: without it, the API server
// has no such kinds.
func TestMonitoringIsOffByDefault(t *testing.T) {
	for _, object := range all[*unstructured.Unstructured](render(t)) {
		if strings.HasPrefix(object.GetAPIVersion(), "monitoring.coreos.com/") {
			t.Errorf("the chart renders %s %s by default", object.GetKind(), object.GetName())
		}
	}
}

// TestServiceMonitorFindsBothProcesses checks that the ServiceMonitor finds the Services of both processes at an
// existing port, and gives both the job that the rules use.
func TestServiceMonitorFindsBothProcesses(t *testing.T) {
	objects := render(t, append(monitored, "--set=monitoring.labels.release=kps")...)
	monitor := into[struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct {
			NamespaceSelector struct{ MatchNames []string }
			Selector          struct {
				MatchLabels      map[string]string
				MatchExpressions []struct {
					Key, Operator string
					Values        []string
				}
			}
			Endpoints []struct {
				Port        string
				Relabelings []struct{ TargetLabel, Replacement string }
			}
		}
	}](t, foreign(t, objects, "ServiceMonitor", release))
	if monitor.Metadata.Labels["release"] != "kps" {
		t.Errorf("labels %v, want the label that this Prometheus selects", monitor.Metadata.Labels)
	}
	if !slices.Equal(monitor.Spec.NamespaceSelector.MatchNames, []string{namespace}) || len(monitor.Spec.Endpoints) != 1 {
		t.Fatalf("%+v", monitor.Spec)
	}
	names := monitor.Spec.Selector.MatchExpressions[0]
	endpoint := monitor.Spec.Endpoints[0]
	var found []string
	for _, service := range all[*corev1.Service](objects) {
		if service.Labels["app.kubernetes.io/instance"] != monitor.Spec.Selector.MatchLabels["app.kubernetes.io/instance"] ||
			!slices.Contains(names.Values, service.Labels[names.Key]) {
			continue
		}
		if slices.ContainsFunc(service.Spec.Ports, func(port corev1.ServicePort) bool { return port.Name == endpoint.Port }) {
			found = append(found, service.Name)
		}
	}
	slices.Sort(found)
	if want := []string{release, release + "-webhook"}; !slices.Equal(found, want) {
		t.Errorf("scraped: %v, want %v", found, want)
	}
	if job := endpoint.Relabelings[0]; job.TargetLabel != "job" || job.Replacement != release {
		t.Errorf("%+v, want the job that the rules use", job)
	}
}

// groups are the groups of a PrometheusRule or of a rules file.
type groups struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For string
			KeepFiringFor    string `json:"keep_firing_for"`
			Labels           map[string]string
			Annotations      map[string]string
		}
	}
}

// TestRenderedRulesDifferOnlyByRelease checks that the chart renders the rules that test/rules tests, and changes only
// the release's matcher.
func TestRenderedRulesDifferOnlyByRelease(t *testing.T) {
	var file groups
	if err := yaml.UnmarshalStrict(read(t, filepath.Join(folder, "rules", "svc-lb-mux.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	about := fmt.Sprintf("namespace=%q,job=%q", namespace, release)
	for base, flags := range map[string][]string{
		"": monitored,
		"https://example.com/operations.md": append(slices.Clone(monitored),
			"--set=monitoring.rules.runbookBase=https://example.com/operations.md"),
	} {
		rule := into[struct{ Spec groups }](t, foreign(t, render(t, flags...), "PrometheusRule", release))
		want := file
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		want = groups{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), `job=\"svc-lb-mux\"`,
			strings.ReplaceAll(about, `"`, `\"`))), &want); err != nil {
			t.Fatal(err)
		}
		for i := range want.Groups {
			for _, r := range want.Groups[i].Rules {
				if !strings.Contains(r.Expr, about) {
					t.Errorf("%s isn't restricted to the release: %s", r.Alert, r.Expr)
				}
				if base != "" {
					r.Annotations["runbook_url"] = base + "#" + strings.ToLower(r.Alert)
				}
			}
		}
		if diff := cmp.Diff(want, rule.Spec); diff != "" {
			t.Errorf("runbookBase %q (-file +chart):\n%s", base, diff)
		}
	}
}

// TestDashboardIsRenderedUnchanged checks that the chart renders the dashboard that test/rules tests.
func TestDashboardIsRenderedUnchanged(t *testing.T) {
	config := named[*corev1.ConfigMap](t, render(t, monitored...), release+"-dashboard")
	if config.Labels["grafana_dashboard"] != "1" {
		t.Errorf("labels %v, want grafana_dashboard for Grafana's sidecar", config.Labels)
	}
	var got, want any
	for to, data := range map[*any][]byte{&got: []byte(config.Data["svc-lb-mux.json"]),
		&want: read(t, filepath.Join(folder, "dashboards", "svc-lb-mux.json"))} {
		if err := json.Unmarshal(data, to); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-file +chart):\n%s", diff)
	}
}

// into converts a map to a type.
func into[T any](t *testing.T, fields map[string]any) T {
	t.Helper()
	var typed T
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &typed); err != nil {
		t.Fatal(err)
	}
	return typed
}
