package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	version = "v1.2.3"
	plain   = "svc-lb-mux-v1.2.3.provenance.json"
	signed  = "svc-lb-mux-v1.2.3.provenance.sigstore.json"
	archive = "svc-lb-mux-webhook-v1.2.3.oci.tar"
	digest  = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	other   = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

func TestFolderIsComparedWithItsProvenance(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, folder string)
		want   string // empty: no problem
	}{
		"nothing changed": {func(*testing.T, string) {}, ""},
		"checksums and signatures came later": {func(t *testing.T, folder string) {
			put(t, folder, "SHA256SUMS", "x")
			put(t, folder, "SHA256SUMS.sigstore.json", "x")
		}, ""},
		"a changed file": {func(t *testing.T, folder string) { put(t, folder, "tool", "other") }, "tool has the checksum"},
		"a file more":    {func(t *testing.T, folder string) { put(t, folder, "more", "x") }, "doesn't name more"},
		"a missing file": {func(t *testing.T, folder string) { remove(t, folder, "tool") }, "tool is missing"},
		"an archive of another image": {func(t *testing.T, folder string) { put(t, folder, archive, image(t, other)) },
			"holds the image " + other},
		"an archive that is none": {func(t *testing.T, folder string) { put(t, folder, archive, "x") },
			"isn't the archive of an image"},
		"the signed text": {func(t *testing.T, folder string) { put(t, folder, signed, envelope(t, get(t, folder, plain))) },
			""},
		"another signed text": {func(t *testing.T, folder string) { put(t, folder, signed, envelope(t, "{}")) },
			"signs another text"},
		"a statement of another type": {func(t *testing.T, folder string) {
			put(t, folder, plain, strings.Replace(get(t, folder, plain), predicateType, "https://example.com", 1))
		}, `of type "https://example.com"`},
		"no statement": {func(t *testing.T, folder string) { remove(t, folder, plain) }, "has 0 files *.provenance.json"},
		"two statements": {func(t *testing.T, folder string) { put(t, folder, "x.provenance.json", "{}") },
			"has 2 files *.provenance.json"},
		"no JSON": {func(t *testing.T, folder string) { put(t, folder, plain, "x") }, "isn't a statement of " +
			"provenance"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := made(t)
			tc.change(t, folder)
			err := run([]string{"check", folder}, &bytes.Buffer{})
			if got := fmt.Sprint(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("the problems are %s\nwant %q", got, tc.want)
			}
		})
	}
}

func TestStatementNamesItsSource(t *testing.T) {
	for name, tc := range map[string]struct {
		trial  bool
		commit string
		want   resource
	}{
		"a release": {false, "0123abcd",
			resource{URI: "git+https://example.com@refs/tags/v1.2.3", Digest: map[string]string{"gitCommit": "0123abcd"}}},
		"a trial": {true, "0123abcd",
			resource{URI: "git+https://example.com", Digest: map[string]string{"gitCommit": "0123abcd"},
				Annotations: map[string]string{"trial": "made from a work tree, which may differ from this commit"}}},
		"a folder without git": {false, "unknown", resource{URI: "git+https://example.com@refs/tags/v1.2.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := source(release{commit: tc.commit,
				settings: parameters{Source: "git+https://example.com", Version: version, Trial: tc.trial}})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImagesAndPredicateArePrinted(t *testing.T) {
	folder := made(t)
	var images, text bytes.Buffer
	if err := run([]string{"images", folder}, &images); err != nil ||
		images.String() != "svc-lb-mux/webhook:v1.2.3 "+digest+"\n" {
		t.Errorf("images: %q, %v", images.String(), err)
	}
	var printed predicate
	if err := run([]string{"predicate", folder}, &text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &printed); err != nil || printed.BuildDefinition.BuildType != buildType {
		t.Errorf("predicate: %v\n%s", err, text.String())
	}
}

// made returns a small release: a file, the archive of an image, and their provenance. Its program is this test.
func made(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	put(t, folder, "tool", "x")
	put(t, folder, archive, image(t, digest))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{"write", "--version", version, "--image", "svc-lb-mux/webhook:" + version + "=" + digest,
		folder, program}, &out); err != nil {
		t.Fatal(err)
	}
	put(t, folder, plain, out.String())

	return folder
}

// image returns an archive that names an image's digest.
func image(t *testing.T, digest string) string {
	t.Helper()
	var out bytes.Buffer
	text := fmt.Appendf(nil, `{"manifests":[{"digest":%q}]}`, digest)
	file := tar.NewWriter(&out)
	if err := file.WriteHeader(&tar.Header{Name: "index.json", Size: int64(len(text)), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}

	return out.String()
}

func envelope(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"dsseEnvelope": map[string]any{"payload": []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}

	return string(data)
}

func put(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}

	return string(data)
}

func remove(t *testing.T, folder, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}
