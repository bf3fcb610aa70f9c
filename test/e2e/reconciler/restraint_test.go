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

// restrain has every reconciler be the chart's ServiceAccount, which may do anything by its roles, and nothing but what
// is a reconciler's by the chart's policies: so what the suite has it do, they must let through. The cluster needs Helm.
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
`+w.render(t, release, append(values, "fullnameOverride="+leaseName, "serviceAccount.name="+release), "reconciler-policy.yaml"))
	w.Config = w.impersonating(release)
	w.awaitPolicies(t, w.Config)
}

func (w *world) impersonating(account string) *rest.Config {
	config := rest.CopyConfig(w.Config)
	config.Impersonate.UserName = "system:serviceaccount:" + muxNamespace + ":" + account
	return config
}

// unrestrained is nobody of the chart's: it may do anything, and no policy speaks of it.
func (w *world) unrestrained() *rest.Config {
	config := rest.CopyConfig(w.Config)
	config.Impersonate = rest.ImpersonationConfig{}
	return config
}

// render returns the chart's templates as Helm fills them in.
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

// awaitPolicies waits until a ServiceAccount is refused what isn't a reconciler's: the API server learns of policies a
// moment after they are made. Its own roles must let it write statuses.
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
			return fmt.Errorf("what isn't ours can be written: %w", err)
		}
		return nil
	})
}
