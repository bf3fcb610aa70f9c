package reconciler

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// TestNotesNameTheNamespacesOfMuxes reads the notes of a server-side dry run, in which helm looks up objects of the
// cluster, as in an install.
func TestNotesNameTheNamespacesOfMuxes(t *testing.T) {
	t.Parallel()
	w := start(t, cluster.APIServerOnly(), cluster.Helm())
	chart, err := filepath.Abs(filepath.Join("..", "..", "..", "charts", "svc-lb-mux"))
	if err != nil {
		t.Fatal(err)
	}
	notes := func(values ...string) string {
		args := []string{"install", "svc-mux", chart, "--namespace", muxNamespace, "--dry-run=server", "--set",
			"certs.mode=selfManaged"}
		for _, value := range values {
			args = append(args, "--set", value)
		}
		_, text, _ := strings.Cut(w.Helm(t, args...), "\nNOTES:\n")
		return text
	}
	w.namespace(t, "edge")
	s := &scene{world: w}
	s.mux(t, "other", func(svc *corev1.Service) { svc.Namespace = "edge" })
	for name, tc := range map[string]struct {
		values        []string
		want, without string
	}{
		"all namespaces": {nil, "--set 'rbac.muxNamespaces={edge," + muxNamespace + "}'", "doesn't serve"},
		"no default mux": {[]string{"defaultLoadBalancer.create=false"}, "--set 'rbac.muxNamespaces={edge}'",
			"doesn't serve"},
		"a missing namespace": {[]string{"rbac.muxNamespaces={" + muxNamespace + "}"}, "doesn't list them: edge\n",
			"--set 'rbac.muxNamespaces"},
		"all namespaces with muxes": {[]string{"rbac.muxNamespaces={" + muxNamespace + ",edge}"}, "",
			"muxNamespaces"},
		"rights that the chart doesn't grant": {[]string{"rbac.create=false"}, "", "muxNamespaces"},
		"muxes of another prefix don't count": {[]string{"api.prefix=other.example.com"},
			"--set 'rbac.muxNamespaces={" + muxNamespace + "}'", "edge,"},
	} {
		t.Run(name, func(t *testing.T) {
			text := notes(tc.values...)
			if text == "" || !strings.Contains(text, tc.want) || strings.Contains(text, tc.without) {
				t.Errorf("want %q and not %q in\n%s", tc.want, tc.without, text)
			}
		})
	}
}
