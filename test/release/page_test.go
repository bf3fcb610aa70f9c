package release

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/binaries"
)

// TestVersionsPage checks that docs/versions.md lists the versions that the tests run.
func TestVersionsPage(t *testing.T) {
	page := read(t, filepath.Join("..", "..", "docs", "versions.md"))
	minor := func(version string) string { return version[:strings.LastIndex(version, ".")] }
	chart := regexp.MustCompile(`kubeVersion: ">=(\d+\.\d+)`).FindStringSubmatch(
		read(t, filepath.Join("..", "..", "charts", "svc-lb-mux", "Chart.yaml")))
	if chart == nil {
		t.Fatal("the chart has no lower bound for Kubernetes")
	}
	for _, row := range []string{
		fmt.Sprintf("| Kubernetes | %s and newer | %s;", chart[1], minor(binaries.DefaultKubernetes)),
		fmt.Sprintf("| Helm | 3 and 4 | %s and %s |", minor(binaries.Helm3Version), minor(binaries.Helm4Version)),
		fmt.Sprintf("| cert-manager | `cert-manager.io/v1` | %s |", minor(binaries.CertManagerVersion)),
	} {
		if !strings.Contains(page, "\n"+row) {
			t.Errorf("docs/versions.md doesn't say %q, which is what the tests run", row)
		}
	}
}
