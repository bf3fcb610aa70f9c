package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusals tries releases that must be refused, and checks the message. Nothing is built for that.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		before string // commands run in a checkout that is tagged v1.2.3 and has a changelog section for it
		with   []string
		want   string
	}{
		"uncommitted changes": {
			before: "echo more >>CHANGELOG.md", want: "there are changes that aren't committed"},
		"an untracked file": {
			before: "touch forgotten.go", want: "there are changes that aren't committed"},
		"a commit without a tag": {
			before: "git tag -d v1.2.3", want: "git tag -a"},
		"a commit after the tag": {
			before: "git commit --allow-empty -qm more", want: "git tag -a"},
		"a version that differs from the tag": {
			with: []string{"VERSION=v1.2.4"}, want: "HEAD isn't tagged v1.2.4"},
		"a version that is almost a trial's": {
			with: []string{"VERSION=v1.2.4-devil"}, want: "HEAD isn't tagged v1.2.4-devil"},
		"a tag that isn't a version": {
			before: "git tag -d v1.2.3; git tag nightly", want: `VERSION="nightly" isn't a version such as v1.2.3`},
		"a version that isn't a valid image tag": {
			before: "git tag v1.2.3+4", with: []string{"VERSION=v1.2.3+4"}, want: `VERSION="v1.2.3+4" isn't a version`},
		"no section in the changelog": {
			before: "git tag v1.2.4", with: []string{"VERSION=v1.2.4"},
			want: `CHANGELOG.md says nothing under "## [1.2.4]": write`},
		"an empty section": {
			before: "git tag v1.2.2", with: []string{"VERSION=v1.2.2"}, want: `CHANGELOG.md says nothing under "## [1.2.2]"`},
		"a trial whose section is missing": {
			with: []string{"VERSION=v0.0.0-dev"}, want: `CHANGELOG.md says nothing under "## [Unreleased]"`},
		"a tree without git": {
			before: "rm -rf .git", with: []string{"VERSION=v1.2.3"}, want: "isn't a git checkout"},
		"an older Go than go.mod's toolchain": {
			before: "sed -i 's/^toolchain .*/toolchain go1.999.1/' go.mod && git commit -qam newer && git tag -f v1.2.3",
			want:   "a release takes 1.999.1 or newer (toolchain in go.mod)"},
		"a go.mod that names no toolchain": {
			before: "sed -i '/^toolchain /d' go.mod && git commit -qam none && git tag -f v1.2.3",
			want:   "go.mod has no toolchain line"},
		"a builder that makes images for one platform": {
			with: []string{"BUILDER=docker"}, want: "needs buildah or podman"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := checkout(t)
			run(t, tree, tc.before)
			dist := filepath.Join(t.TempDir(), "dist")
			args := append([]string{"make", "release", "DIST=" + dist, "BUILDER=buildah"}, tc.with...)
			release := command(t, tree, args...)
			release.Env = append(release.Env, "GOTOOLCHAIN=local")
			out, err := release.CombinedOutput()
			if err == nil || !strings.Contains(string(out), tc.want) || strings.Contains(string(out), "go build") {
				t.Errorf("the output is %s\nwant %q before anything is built", out, tc.want)
			}
			if left, err := os.ReadDir(dist); err == nil && len(left) > 0 {
				t.Errorf("the refused release leaves %v", left)
			}
		})
	}
}

// TestPublishRefusals tries to publish releases that must be refused.
func TestPublishRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		before string
		with   []string
		want   string
	}{
		"no registry":           {want: "REGISTRY is empty"},
		"no word about signing": {with: []string{"REGISTRY=registry.invalid"}, want: "COSIGN_KEY is empty"},
		"a key that isn't there": {with: []string{"REGISTRY=registry.invalid", "COSIGN_KEY=lost.key"},
			want: "there is no key lost.key"},
		"nothing to push": {with: []string{"REGISTRY=registry.invalid", "COSIGN_KEY=none"},
			want: "make release VERSION=v1.2.3 makes it"},
		"a file that changed after the release was made": {
			before: "mkdir -p dist/v1.2.3 && cd dist/v1.2.3 && echo one >file && sha256sum file >SHA256SUMS && echo two >file",
			with:   []string{"REGISTRY=registry.invalid", "COSIGN_KEY=none"}, want: "isn't what was made"},
		"a tool that isn't there": {
			before: "mkdir -p dist/v1.2.3 && cd dist/v1.2.3 && echo one >file && sha256sum file >SHA256SUMS",
			with:   []string{"REGISTRY=registry.invalid", "COSIGN_KEY=none", "COSIGN=no-cosign"}, want: "there is no no-cosign"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := checkout(t)
			run(t, tree, tc.before)
			args := append([]string{"make", "publish", "VERSION=v1.2.3", "DIST=dist", "HELM=false", "COSIGN=false",
				"CRANE=false"}, tc.with...)
			out, err := command(t, tree, args...).CombinedOutput()
			mustTell(t, string(out), err, tc.want)
		})
	}
}

// TestVerifyRefusals tries to verify releases of which too little is known.
func TestVerifyRefusals(t *testing.T) {
	const folder = "mkdir -p dist/v1.2.3 && touch dist/v1.2.3/SHA256SUMS"
	for name, tc := range map[string]struct {
		before string
		with   []string
		want   string
	}{
		"no folder":          {want: "download the files of v1.2.3 to that folder"},
		"no list of files":   {before: "mkdir -p dist/v1.2.3", want: "there is no dist/v1.2.3/SHA256SUMS"},
		"nobody's signature": {before: folder, want: "nothing says whose signature counts"},
		"an issuer alone": {before: folder, with: []string{"COSIGN_ISSUER=https://example.com"},
			want: "nothing says whose signature counts"},
		"a key that isn't there": {before: folder, with: []string{"COSIGN_PUBLIC_KEY=lost.pub"},
			want: "there is no public key lost.pub"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := checkout(t)
			run(t, tree, tc.before)
			args := append([]string{"make", "verify-release", "VERSION=v1.2.3", "DIST=dist", "COSIGN=false", "CRANE=false"},
				tc.with...)
			out, err := command(t, tree, args...).CombinedOutput()
			mustTell(t, string(out), err, tc.want)
		})
	}
}

// checkout makes a repository with the files that the release's checks read, tagged v1.2.3.
func checkout(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	if err := os.Mkdir(filepath.Join(tree, ".ci"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Makefile", ".ci/release", ".ci/publish", ".ci/verify-release", ".ci/tools", "go.mod"} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(read(t, "..", "..", name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	changes := "# Changelog\n\n## [1.2.3] - 2026-01-02\n\n- This.\n\n## [1.2.2] - 2026-01-01\n\n## [1.2.1]\n\n- That.\n"
	if err := os.WriteFile(filepath.Join(tree, "CHANGELOG.md"), []byte(changes), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, tree, `git init -q && git config user.name t && git config user.email t@example.com && git add -A &&
		git commit -qm first && git tag v1.2.3`)

	return tree
}

func run(t *testing.T, dir, script string) {
	t.Helper()
	if out, err := command(t, dir, "bash", "-ec", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}
