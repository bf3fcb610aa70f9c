package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const chartText = "apiVersion: v2\nname: x\nannotations:\n  artifacthub.io/category: networking\n"

const notesText = "### Added\n\n- **One**: a `value` that\n  needs [a page](docs/page.md): yes.\n- " +
	"Two.\n\nBesides:\n\n- Three.\n"

func TestReleaseMetadata(t *testing.T) {
	base := map[string]any{"apiVersion": "v2", "name": "x"}
	const added = "- description: 'One: a value that needs a page: yes.'\n  kind: added\n- description: Two.\n  kind: " +
		"added\n- description: Three.\n  kind: added\n"
	for name, tc := range map[string]struct {
		flags       []string
		notes       string
		top         map[string]any
		annotations map[string]any
	}{
		"without addresses": {
			flags: []string{"--version=v1.2.3", "--downloads=https://localhost/svc-lb-mux"}, notes: notesText,
			annotations: map[string]any{"changes": added, "prerelease": "false", "containsSecurityUpdates": "false"},
		},
		"with addresses": {
			flags: []string{"--version=v1.2.3", "--downloads=https://dl.example.com/x/", "--sources=https://git.example.com/x"},
			notes: notesText,
			top:   map[string]any{"home": "https://dl.example.com/x", "sources": []any{"https://git.example.com/x"}},
			annotations: map[string]any{"changes": added, "prerelease": "false", "containsSecurityUpdates": "false",
				"links": "- name: Release notes\n  url: https://dl.example.com/x/v1.2.3/release-notes.md\n" +
					"- name: Checksums\n  url: https://dl.example.com/x/v1.2.3/SHA256SUMS\n"},
		},
		"a candidate with a security fix": {
			flags: []string{"--version=v1.2.3-rc.1"}, notes: "### Security\n\n- A fix.\n",
			annotations: map[string]any{"changes": "- description: A fix.\n  kind: security\n", "prerelease": "true",
				"containsSecurityUpdates": "true"},
		},
		"no list of changes": {
			flags: []string{"--version=v1.2.3"}, notes: "The first version.\n",
			annotations: map[string]any{"prerelease": "false", "containsSecurityUpdates": "false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := runWith(t, tc.notes, tc.flags...)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			annotations := map[string]any{"artifacthub.io/category": "networking"}
			for key, value := range tc.annotations {
				annotations["artifacthub.io/"+key] = value
			}
			want := map[string]any{"annotations": annotations}
			for _, part := range []map[string]any{base, tc.top} {
				for key, value := range part {
					want[key] = value
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Chart.yaml (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReleaseMetadataIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		flags []string
		notes string
		want  string
	}{
		"an address without a scheme": {[]string{"--version=v1.2.3", "--downloads=dl.example.com"}, notesText,
			`DOWNLOADS "dl.example.com" isn't an address`},
		"a path as the sources": {[]string{"--version=v1.2.3", "--sources=git@example.com:x"}, notesText,
			`SOURCES "git@example.com:x" isn't an address`},
		"a heading of no kind": {[]string{"--version=v1.2.3"}, "### News\n\n- One.\n",
			`"### News" of CHANGELOG.md isn't a kind of change`},
		"no version": {nil, notesText, "usage: metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := runWith(t, tc.notes, tc.flags...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
		})
	}
}

// TestChangelogHasKindsOfChanges reads all of CHANGELOG.md, so that a heading is wrong before the day of the release.
func TestChangelogHasKindsOfChanges(t *testing.T) {
	text, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	changes, err := parseChanges(string(text))
	if err != nil || len(changes) == 0 {
		t.Errorf("%d changes, %v", len(changes), err)
	}
	for _, c := range changes {
		if strings.ContainsAny(c.Description, "*`") {
			t.Errorf("Markdown is left in %q", c.Description)
		}
	}
}

// runWith runs the command with a chart and a changelog's section, in files.
func runWith(t *testing.T, notes string, flags ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"Chart.yaml": chartText, "notes": notes} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := run(append(flags, "--notes="+filepath.Join(dir, "notes"), filepath.Join(dir, "Chart.yaml")), &out)

	return out.String(), err
}
