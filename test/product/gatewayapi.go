package product

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// GatewayAPI returns the folder of the Gateway API's module that has the standard CRDs.
func GatewayAPI(t testing.TB) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "config/crd/standard")
}

// InstallGatewayAPI applies the standard CRDs of the Gateway API's module.
func InstallGatewayAPI(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	crds := GatewayAPI(t)
	// An API server that gets its first kinds may be busy for longer than one request may take.
	cluster.Eventually(t, "the kinds of the Gateway API are applied", func(ctx context.Context) error {
		_, err := c.TryKubectl(ctx, "", "apply", "--server-side", "-f", crds)
		return err
	})
	for _, kind := range []string{"gateways", "listenersets", "tcproutes", "udproutes"} {
		c.Kubectl(t, "wait", "--for=condition=Established", "crd/"+kind+".gateway.networking.k8s.io", "--timeout=60s")
	}
}
