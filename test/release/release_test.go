package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/test/long"
)

const (
	version   = "v0.0.0-dev.1" // the version of the trial in docs/releasing.md
	downloads = "https://downloads.example.com/svc-lb-mux"
	sources   = "https://git.example.com/svc-lb-mux"
	commit    = "0123456789abcdef0123456789abcdef01234567"
	madeAt    = "1700000000"
	madeAtIs  = "2023-11-14T22:13:20Z"
)

// platforms are the platforms that the test builds svcmux for: this machine's, whose programs can run, and in make long
// Windows, whose programs have other names. An empty cache compiles for minutes for each platform, and the others
// differ in nothing.
func platforms() []string {
	if long.Runs() {
		return []string{"linux/" + runtime.GOARCH, "windows/amd64"}
	}
	return []string{"linux/" + runtime.GOARCH}
}

func TestRelease(t *testing.T) {
	needBuilder(t)
	here, there := t.TempDir(), filepath.Join(t.TempDir(), "another", "place")
	copyTree(t, filepath.Join("..", ".."), here)
	copyTree(t, here, there)
	made := makeRelease(t, here)

	t.Run("another work folder gives the same bytes", func(t *testing.T) {
		long.Only(t, "TestBuiltBinaries in cmd compares the programs")
		again := makeRelease(t, there)
		if diff := cmp.Diff(sums(t, made), sums(t, again)); diff != "" {
			t.Errorf("two releases of one tree differ:\n%s", diff)
		}
	})
	t.Run("SHA256SUMS lists every file", func(t *testing.T) {
		if diff := cmp.Diff(read(t, made, "SHA256SUMS"), sums(t, made)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("svcmux says the version", func(t *testing.T) {
		out, err := exec.Command(filepath.Join(made, "svcmux-"+version+"-linux-"+runtime.GOARCH),
			"--version").CombinedOutput()
		if err != nil || string(out) != "svcmux "+version+"\n" {
			t.Errorf("%s, %v", out, err)
		}
	})
	t.Run("the Windows program has the format of Windows", func(t *testing.T) {
		long.Only(t, "programs for Linux")
		if program := read(t, made, "svcmux-"+version+"-windows-amd64.exe"); !strings.HasPrefix(program, "MZ") {
			t.Errorf("the program begins with %q", program[:2])
		}
	})
	t.Run("the release notes are the changelog's section", func(t *testing.T) {
		_, rest, _ := strings.Cut(read(t, here, "CHANGELOG.md"), "\n## [Unreleased]\n\n")
		section, _, _ := strings.Cut(rest, "\n## ")
		if diff := cmp.Diff("# svc-lb-mux "+version+"\n\n"+section, read(t, made, "release-notes.md")); diff != "" {
			t.Error(diff)
		}
	})
	for _, part := range []string{"webhook", "reconciler", "gateway"} {
		t.Run(part+"'s archive has an image for each platform", func(t *testing.T) { checkArchive(t, made, part) })
	}
	t.Run("Krew's manifest names an archive for each platform", func(t *testing.T) { checkKrew(t, made) })
	t.Run("the bills of materials list the programs' modules", func(t *testing.T) { checkBills(t, here, made) })
	t.Run("the chart package has this version", func(t *testing.T) { checkChart(t, here, made) })
	t.Run("the provenance names files, images, sources and builder", func(t *testing.T) { checkProvenance(t, made) })
	t.Run("a signed release can be verified, and tampering is noticed", func(t *testing.T) { checkTrust(t, here, made) })
}

func needBuilder(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"buildah", "podman"} {
		if _, err := exec.LookPath(tool); err == nil {
			return
		}
	}
	t.Skip("NOT COVERED: a release needs buildah or podman; on Debian: apt-get install buildah")
}

// makeRelease runs `make release` in a copy without a repository. Variables replace what git would say.
func makeRelease(t *testing.T, tree string) string {
	t.Helper()
	dist := t.TempDir()
	out, err := command(t, tree, "make", "release", "DIST="+dist, "VERSION="+version, "COMMIT_TIME="+madeAt,
		"REVISION="+commit,
		"CLI_PLATFORMS="+strings.Join(platforms(), " "), "DOWNLOADS="+downloads, "SOURCES="+sources).CombinedOutput()
	if err != nil {
		t.Fatalf("make release: %v\n%s", err, out)
	}

	return filepath.Join(dist, version)
}

// command returns a command that a surrounding make doesn't influence.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "MAKE") && name != "MFLAGS" && !strings.HasPrefix(name, "GIT_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}

	return cmd
}

// copyTree copies the files that a release reads, without the repository and built files.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	script := `set -o pipefail; tar -C "$1" --exclude=./.git --exclude=./bin --exclude=./dist -c . | tar -C "$2" -x`
	if out, err := command(t, ".", "bash", "-c", script, "copy", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy the tree: %v\n%s", err, out)
	}
}

// sums returns the contents that SHA256SUMS must have for a folder.
func sums(t *testing.T, folder string) string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	for _, file := range files {
		if name := file.Name(); name != "SHA256SUMS" && !strings.HasSuffix(name, ".sigstore.json") {
			sum := sha256.Sum256([]byte(read(t, folder, file.Name())))
			list.WriteString(hex.EncodeToString(sum[:]) + "  " + file.Name() + "\n")
		}
	}

	return list.String()
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}

	return string(data)
}
