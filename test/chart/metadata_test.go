package chart

import (
	"encoding/base64"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestIcon writes docs/icon.svg into Chart.yaml. Artifact Hub and Helm take an icon by its URL only. A data URL works
// without a host that serves the file.
func TestIcon(t *testing.T) {
	icon := read(t, "../../docs/icon.svg")
	// Artifact Hub recognizes an SVG by a pattern that allows no asterisk.
	if text := string(icon); !strings.HasPrefix(text, "<svg ") || !strings.HasSuffix(text, "</svg>\n") ||
		strings.Contains(text, "*") {
		t.Error("docs/icon.svg must be one svg element, without a comment or an asterisk: Artifact Hub refuses others")
	}
	path := filepath.Join(folder, "Chart.yaml")
	line := "icon: data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(icon)
	isGenerated(t, path, regexp.MustCompile(`(?m)^icon: .*$`).ReplaceAllLiteralString(string(read(t, path)), line))
}

// TestMetadata checks the parts of Chart.yaml that people and Artifact Hub read.
func TestMetadata(t *testing.T) {
	var chart struct {
		Home, Icon, Description string
		Sources, Keywords       []string
		Maintainers             []struct{ Name, Email, URL string }
		Annotations             map[string]string
	}
	if err := yaml.Unmarshal(read(t, filepath.Join(folder, "Chart.yaml")), &chart); err != nil {
		t.Fatal(err)
	}
	if chart.Description == "" || len(chart.Keywords) == 0 || len(chart.Maintainers) == 0 ||
		chart.Maintainers[0].Name == "" {
		t.Errorf("Chart.yaml lacks a description, keywords or maintainers: %+v", chart)
	}
	if chart.Home != "" || len(chart.Sources) > 0 {
		t.Errorf("Chart.yaml has the addresses %q and %q: make release adds them, because only the publisher knows them",
			chart.Home, chart.Sources)
	}
	if license := string(read(t, "../../LICENSE")); !strings.Contains(license, "Apache License") ||
		!strings.Contains(license, "Version 2.0") {
		t.Error("LICENSE is another license than Chart.yaml says")
	}
	want := map[string]string{"artifacthub.io/category": "networking", "artifacthub.io/license": "Apache-2.0"}
	if diff := cmp.Diff(want, chart.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// TestLintFindsNothing also fails on Helm's advice, such as a missing icon.
func TestLintFindsNothing(t *testing.T) {
	out, ok := helm(t, "lint", "--strict", folder)
	if !ok || strings.Contains(out, "[") {
		t.Errorf("helm lint:\n%s", out)
	}
}

// TestPackageHasTheReadme packages the chart and reads the README as `helm show readme` shows it.
func TestPackageHasTheReadme(t *testing.T) {
	dir := t.TempDir()
	if out, ok := helm(t, "package", folder, "--version=1.2.3", "--destination="+dir); !ok {
		t.Fatalf("helm package: %s", out)
	}
	out, ok := helm(t, "show", "readme", filepath.Join(dir, "svc-lb-mux-1.2.3.tgz"))
	if want := string(read(t, filepath.Join(folder, "README.md"))); !ok ||
		strings.TrimSpace(out) != strings.TrimSpace(want) {
		t.Errorf("helm show readme differs from the chart's README.md:\n%.300s", out)
	}
}
