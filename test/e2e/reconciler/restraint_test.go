package reconciler

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// restrain lets every reconciler run as the chart's ServiceAccount. Its roles grant everything, and the chart's
// policies restrict it. So the policies must allow everything that the tests make the reconciler do. The cluster needs
// Helm.
func (w *world) restrain(t *testing.T, values ...string) {
	t.Helper()
	const release = "svc-mux"
	w.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reconciler-may-do-anything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, namespace: `+muxNamespace+`, name: `+release+`}]
---
`+w.render(t, release, append(values, "fullnameOverride="+leaseName, "serviceAccount.name="+release),
		"reconciler-policy.yaml"))
	w.Config = w.impersonating(release)
	w.awaitPolicies(t, w.Config)
}

func (w *world) impersonating(account string) *rest.Config {
	config := rest.CopyConfig(w.Config)
	config.Impersonate.UserName = "system:serviceaccount:" + muxNamespace + ":" + account
	return config
}

// unrestrained returns a configuration of another account: it may do anything, and no policy applies to it.
func (w *world) unrestrained() *rest.Config {
	config := rest.CopyConfig(w.Config)
	config.Impersonate = rest.ImpersonationConfig{}
	return config
}

// render returns rendered templates of the chart.
func (w *world) render(t *testing.T, release string, set []string, templates ...string) string {
	t.Helper()
	chart, err := filepath.Abs(filepath.Join("..", "..", "..", "charts", "svc-lb-mux"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"template", release, chart, "--namespace", muxNamespace}
	for _, template := range templates {
		args = append(args, "--show-only", "templates/"+template)
	}
	for _, value := range set {
		args = append(args, "--set", value)
	}
	return w.Helm(t, args...)
}

// awaitPolicies waits until the policies deny the ServiceAccount a foreign write: the API server learns of policies a
// moment after their creation. Its roles must allow it to write statuses.
func (w *world) awaitPolicies(t *testing.T, config *rest.Config) {
	t.Helper()
	as, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the policies are in force", func(ctx context.Context) error {
		_, err := as.CoreV1().Services("default").Patch(ctx, "kubernetes", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		if err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			return fmt.Errorf("a foreign object can be written: %w", err)
		}
		return nil
	})
}
