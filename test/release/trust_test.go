package release

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/long"
)

const password = "only for this test"

// checkTrust signs and publishes a release, to a registry on this machine and with a key of its own. Then it changes
// files, images and provenance: each time `make verify-release` must say what is wrong.
func checkTrust(t *testing.T, tree, made string) {
	t.Helper()
	long.Only(t, "the tests of provenance here, and of each refusal of .ci/publish")
	crane, cosign := tool(t, tree, "crane"), tool(t, tree, "cosign")
	registry := startRegistry(t, crane)
	keys, others := newKeys(t, cosign), newKeys(t, cosign)
	target := func(name string, settings ...string) (string, error) {
		args := append([]string{"make", name, "DIST=" + filepath.Dir(made), "VERSION=" + version, "COMMIT_TIME=" + madeAt,
			"REVISION=" + commit,
			"COSIGN=" + cosign, "CRANE=" + crane, "HELM_PUSH_FLAGS=--plain-http"}, settings...)
		cmd := command(t, tree, args...)
		cmd.Env = append(cmd.Env, "COSIGN_PASSWORD="+password)
		out, err := cmd.CombinedOutput()

		return string(out), err
	}
	public := "COSIGN_PUBLIC_KEY=" + filepath.Join(keys, "cosign.pub")
	if out, err := target("publish", "REGISTRY="+registry, "COSIGN_KEY="+filepath.Join(keys, "cosign.key")); err != nil {
		t.Fatalf("make publish: %v\n%s", err, out)
	}
	if out, err := target("verify-release", "REGISTRY="+registry, public); err != nil ||
		!strings.Contains(out, "images and chart are as they were made") {
		t.Fatalf("make verify-release: %v\n%s", err, out)
	}
	for name, tc := range localTampering() {
		t.Run(name, func(t *testing.T) {
			undo := snapshot(t, made, "release-notes.md", "SHA256SUMS", statementFile, signedStatement)
			defer undo()
			tc.change(t, made)
			key := public
			if tc.otherKey {
				key = "COSIGN_PUBLIC_KEY=" + filepath.Join(others, "cosign.pub")
			}
			out, err := target("verify-release", key)
			mustTell(t, out, err, tc.want...)
		})
	}
	t.Run("other images and another chart in the registry", func(t *testing.T) {
		of := func(name string) string { return registry + "/svc-lb-mux/" + name }
		do := func(args ...string) string {
			out, err := command(t, tree, append([]string{crane}, args...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("crane %v: %v\n%s", args, err, out)
			}

			return strings.TrimSpace(string(out))
		}
		do("copy", of("gateway:"+version), of("webhook:"+version))
		do("copy", of("gateway:"+version), of("charts/svc-lb-mux:"+strings.TrimPrefix(version, "v")))
		// The registry lists an image's signatures and SBOMs under a tag.
		do("delete", of("reconciler:"+strings.Replace(do("digest", of("reconciler:"+version)), ":", "-", 1)))
		out, err := target("verify-release", "REGISTRY="+registry, public)
		mustTell(t, out, err,
			of("webhook:"+version)+" is sha256:", "the tag was moved to another image",
			of("charts/svc-lb-mux:0.0.0-dev.1")+" isn't ", "the version was pushed again",
			"the signature of "+of("reconciler:"+version)+" doesn't hold",
			of("reconciler:"+version)+" has no provenance with a valid signature")
		if strings.Contains(out, of("gateway:"+version)) {
			t.Errorf("nothing was done to the gateway's image: %s", out)
		}
	})
}

const (
	statementFile   = "svc-lb-mux-" + version + ".provenance.json"
	signedStatement = "svc-lb-mux-" + version + ".provenance.sigstore.json"
)

type tampering struct {
	change   func(t *testing.T, made string)
	otherKey bool
	want     []string
}

// localTampering lists changes of the files, and the sentences that must tell them.
func localTampering() map[string]tampering {
	return map[string]tampering{
		"a changed file": {
			change: func(t *testing.T, made string) { write(t, made, "release-notes.md", "other notes") },
			want:   []string{"release-notes.md isn't the file that SHA256SUMS lists", "Download it again"},
		},
		"a changed file, and its checksum in the list": {
			change: func(t *testing.T, made string) {
				write(t, made, "release-notes.md", "other notes")
				write(t, made, "SHA256SUMS", sums(t, made))
			},
			want: []string{"release-notes.md has the checksum", "the signature of", "SHA256SUMS doesn't hold"},
		},
		"a changed provenance": {
			change: func(t *testing.T, made string) {
				write(t, made, statementFile, forged(t, read(t, made, statementFile)))
			},
			want: []string{statementFile + " isn't the file that SHA256SUMS lists", signedStatement + " signs another text"},
		},
		"a changed provenance within its signature": {
			change: func(t *testing.T, made string) {
				var bundle map[string]any
				decode(t, []byte(read(t, made, signedStatement)), &bundle)
				bundle["dsseEnvelope"].(map[string]any)["payload"] = []byte(forged(t, read(t, made, statementFile)))
				data, err := json.Marshal(bundle)
				if err != nil {
					t.Fatal(err)
				}
				write(t, made, signedStatement, string(data))
			},
			want: []string{signedStatement + " signs another text", "the signature of", statementFile + " doesn't hold"},
		},
		"a release without a signature": {
			change: func(t *testing.T, made string) {
				if err := os.Remove(filepath.Join(made, signedStatement)); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{signedStatement + ", a signature, is missing", "Download it"},
		},
		"another key": {
			change: func(*testing.T, string) {}, otherKey: true,
			want: []string{"SHA256SUMS doesn't hold", statementFile + " doesn't hold", "compare the key"},
		},
	}
}

// forged returns a provenance with another commit.
func forged(t *testing.T, text string) string {
	t.Helper()
	changed := strings.ReplaceAll(text, commit, strings.Repeat("f", len(commit)))
	if changed == text {
		t.Fatal("the provenance doesn't name the commit")
	}

	return changed
}

// mustTell checks that a command failed with all of the sentences.
func mustTell(t *testing.T, out string, err error, sentences ...string) {
	t.Helper()
	for _, want := range sentences {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v, and the output is\n%s\nwant %q", err, out, want)
		}
	}
}

// snapshot keeps some files, and returns a function that restores them.
func snapshot(t *testing.T, folder string, names ...string) func() {
	t.Helper()
	kept := map[string]string{}
	for _, name := range names {
		kept[name] = read(t, folder, name)
	}

	return func() {
		for name, text := range kept {
			write(t, folder, name, text)
		}
	}
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tool returns the path of a tool that a release uses. The Go command builds it if it isn't in the build cache.
func tool(t *testing.T, tree, name string) string {
	t.Helper()
	cmd := command(t, tree, "go", "tool", "-n", "-modfile=.tools/cosign.mod", name)
	// as make sets them: another CGO_ENABLED builds everything again
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOGC=800")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build %s: %v", name, err)
	}

	return strings.TrimSpace(string(out))
}

func newKeys(t *testing.T, cosign string) string {
	t.Helper()
	folder := t.TempDir()
	cmd := command(t, folder, cosign, "generate-key-pair")
	cmd.Env = append(cmd.Env, "COSIGN_PASSWORD="+password)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("generate a key: %v\n%s", err, out)
	}

	return folder
}

// startRegistry starts a registry on this machine's loopback address, and returns its host and port.
func startRegistry(t *testing.T, crane string) string {
	t.Helper()
	cmd := command(t, ".", crane, "registry", "serve", "--address", "127.0.0.1:0")
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if port := regexp.MustCompile(`serving on port (\d+)`).FindStringSubmatch(lines.Text()); port != nil {
			go func() { // it logs each request
				for lines.Scan() {
					continue
				}
			}()

			return "127.0.0.1:" + port[1]
		}
	}
	t.Fatal("the registry didn't start")

	return ""
}
