package chart

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestTwoReleasesDoNotMeet renders two releases of one name in two namespaces, with two prefixes. Both serve muxes in
// both namespaces and in a third. No object may belong to both.
func TestTwoReleasesDoNotMeet(t *testing.T) {
	seen := map[string]string{}
	for namespace, prefix := range map[string]string{"infra": "a.example.com", "edge": "b.example.com"} {
		flags := append(everything(), "--set=rbac.muxNamespaces={infra,edge,both},api.prefix="+prefix,
			"--set=monitoring.serviceMonitor.enabled=true,monitoring.rules.enabled=true,monitoring.dashboard.enabled=true",
			"--set=test.mux=edge.both,certs.mode="+map[string]string{"infra": "certManager", "edge": "selfManaged"}[namespace])
		for _, object := range renderAs(t, "svc-mux", namespace, flags...) {
			name := addressOf(t, object, namespace)
			if other, taken := seen[name]; taken {
				t.Errorf("%s belongs to the releases in %s and %s", name, other, namespace)
			}
			seen[name] = namespace
		}
	}
}

// addressOf returns the path of an object on the API server.
func addressOf(t *testing.T, object runtime.Object, releaseNamespace string) string {
	t.Helper()
	meta, ok := object.(metav1.Object)
	if !ok {
		t.Fatalf("%T has no name", object)
	}
	kind := object.GetObjectKind().GroupVersionKind().Kind
	where := meta.GetNamespace()
	switch {
	case strings.HasPrefix(kind, "Cluster") || strings.HasPrefix(kind, "Validating"):
		where = ""
	case where == "":
		where = releaseNamespace
	}
	return strings.Join([]string{kind, where, meta.GetName()}, " ")
}
