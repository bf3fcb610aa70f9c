package install

import (
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// TestWithoutCertManagerAnInstallStopsEarly is about a real cluster's APIs: what tells one from `helm template`, which knows
// none, is only known to be there by looking.
func TestWithoutCertManagerAnInstallStopsEarly(t *testing.T) {
	w := &world{cluster.Start(t, cluster.APIServerOnly(), cluster.Helm())}
	before := w.objects(t)
	release := product.Helm{Release: product.Release, Namespace: "default"}
	_, err := release.Install(t.Context(), w.Cluster)
	if err == nil || !strings.Contains(err.Error(), "certs.mode=selfManaged") {
		t.Errorf("it doesn't say what to set instead: %v", err)
	}
	if after := w.objects(t); len(after) != len(before) {
		t.Errorf("something was made all the same: %v", after)
	}
	release.Values, release.Args = []string{"certs.mode=selfManaged"}, []string{"--dry-run=server"}
	if _, err := release.Install(t.Context(), w.Cluster); err != nil {
		t.Errorf("with what it says to set: %v", err)
	}
}
