package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSystemdTakesTheUnitOfTheGatewaysPage verifies the unit. Nothing here runs systemd itself.
func TestSystemdTakesTheUnitOfTheGatewaysPage(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOT COVERED: systemd-analyze isn't installed")
	}
	page, err := os.ReadFile("../../docs/gateways.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```ini\n(\\[Unit\\].*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/gateways.md has no unit")
	}
	unit := filepath.Join(t.TempDir(), "svc-lb-mux-gateway.service")
	text := strings.ReplaceAll(string(found[1]), "/usr/local/bin/gateway", "/bin/true") // it must exist
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
