package install

import (
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// TestInstallWithoutCertManagerStopsEarly uses a real cluster. The chart looks up the cluster's APIs, which `helm
// template` doesn't know.
func TestInstallWithoutCertManagerStopsEarly(t *testing.T) {
	w := &world{cluster.Start(t, cluster.APIServerOnly(), cluster.Helm())}
	before := w.objects(t)
	release := product.Helm{Release: product.Release, Namespace: "default"}
	_, err := release.Install(t.Context(), w.Cluster)
	if err == nil || !strings.Contains(err.Error(), "certs.mode=selfManaged") {
		t.Errorf("the error suggests no value: %v", err)
	}
	if after := w.objects(t); len(after) != len(before) {
		t.Errorf("the refused install created objects: %v", after)
	}
	release.Values, release.Args = []string{"certs.mode=selfManaged"}, []string{"--dry-run=server"}
	if _, err := release.Install(t.Context(), w.Cluster); err != nil {
		t.Errorf("with the suggested value: %v", err)
	}
}
