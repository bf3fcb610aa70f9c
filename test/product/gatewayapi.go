package product

import (
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
	c.Kubectl(t, "apply", "--server-side", "-f", GatewayAPI(t))
	for _, kind := range []string{"gateways", "listenersets", "tcproutes", "udproutes"} {
		c.Kubectl(t, "wait", "--for=condition=Established", "crd/"+kind+".gateway.networking.k8s.io", "--timeout=60s")
	}
}
