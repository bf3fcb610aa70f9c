package snapshot

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/changes"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/doctor"
	"nowake.ai/svc-lb-mux/cmd/svcmux/explain"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
	"nowake.ai/svc-lb-mux/cmd/svcmux/ports"
	"nowake.ai/svc-lb-mux/cmd/svcmux/status"
	"nowake.ai/svc-lb-mux/cmd/svcmux/survey"
	"nowake.ai/svc-lb-mux/cmd/svcmux/tcpservices"
	"nowake.ai/svc-lb-mux/cmd/svcmux/versions"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// tenant lists what a tenant of namespace shop may not read.
func tenant() []string {
	return []string{
		"services", "services/svc-mux", "endpointslices", "endpointslices/svc-mux", "configmaps/svc-mux",
		"configmaps/ingress-nginx", "deployments", "deployments/shop", "validatingwebhookconfigurations", "version",
		"subjectaccessreviews", "daemonsets", "nodes", "gatewayclasses", "gateways", "gateways/infra", "gateways/quay",
		"listenersets", "tcproutes", "udproutes", "referencegrants", "namespaces",
	}
}

// readers are command lines that read a cluster.
func readers(t *testing.T) map[string]func(cli.Env) *cobra.Command {
	t.Helper()
	folder := golden.Read(t, "../changes/testdata/stories.txtar").Extract(t, "channels.yaml")
	return map[string]func(cli.Env) *cobra.Command{
		"": status.Command, "-o json": status.Command, "svc-mux/mux -o wide": ports.Command, "--free": ports.Command,
		"shop/web":                explain.Command,
		"svc-mux/mux:443 -o json": explain.Command, "-f " + folder: changes.Command, "-o yaml": doctor.Command,
		"--per namespace": survey.Command,
		"-o  json":        versions.Command, "--suffix=-mux": tcpservices.Command,
	}
}

// taken returns the path of a snapshot.
func taken(t *testing.T, kubeconfig string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.json.gz")
	got := looktest.RunAt(t, Command, kubeconfig, "", append(args, path)...)
	if got.Code != 0 || !strings.HasPrefix(got.Out, path+" has ") {
		t.Fatalf("exit code %d:\n%s%s", got.Code, got.Out, got.Err)
	}
	return path
}

func TestCommandsPrintTheSameFromSnapshot(t *testing.T) {
	for _, world := range []string{"busy", "frozen", "full", "half", "healthy", "ill", "installed", "ipv6", "listeners",
		"names", "none", "paused", "pending", "private", "ranges", "routes", "several"} {
		for user, forbidden := range map[string][]string{"admin": nil, "tenant": tenant()} {
			kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/"+world+".yaml").Serve(t, forbidden...)
			path := taken(t, kubeconfig)
			for args, command := range readers(t) {
				live := looktest.RunAt(t, command, kubeconfig, "", strings.Fields(args)...)
				again := looktest.RunAt(t, command, kubeconfig, "", append(strings.Fields(args), "--snapshot", path)...)
				if diff := cmp.Diff(live, again); diff != "" {
					t.Errorf("%s, %s, %s %s (-cluster +snapshot):\n%s", world, user, command(cli.Env{Getenv: os.Getenv}).Name(), args,
						diff)
				}
			}
		}
	}
}

func unpacked(t *testing.T, path string) string {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGoldenSnapshot shows all fields that leave the cluster.
func TestGoldenSnapshot(t *testing.T) {
	for _, world := range []string{"installed", "private", "routes"} {
		kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/"+world+".yaml").Serve(t)
		golden.Read(t, "testdata/snapshots.txtar").Compare(t, world+".jsonl", unpacked(t, taken(t, kubeconfig)))
	}
}

// TestHashedNamesAreEnough looks for names in a snapshot of hashes, and compares the outputs of commands.
func TestHashedNamesAreEnough(t *testing.T) {
	names := regexp.MustCompile(
		`\b(shop|web|web-[a-z0-9]+|chat|rooms|rooms-[a-z0-9]+|edge|node-[0-9]|edge-[0-9]|jane)\b|corp\.example`)
	ours := regexp.MustCompile(`\\?"(?:uid|muxUID)\\?":\\?"[^"]*"|svc-mux-webhook|"name":"webhook"|a/webhook`)
	for _, world := range []string{"busy", "healthy", "installed", "several", "frozen", "paused", "pending", "private",
		"full", "gateways"} {
		for user, forbidden := range map[string][]string{"admin": nil, "tenant": tenant()} {
			kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/"+world+".yaml").Serve(t, forbidden...)
			plain, hashed := taken(t, kubeconfig), taken(t, kubeconfig, "--hash-names")
			text := ours.ReplaceAllString(unpacked(t, hashed), "")
			if left := names.FindAllString(text, -1); len(left) > 0 {
				t.Errorf("%s, %s: names are left: %q", world, user, left)
			}
			for _, command := range []func(cli.Env) *cobra.Command{status.Command, ports.Command} {
				a := looktest.RunAt(t, command, kubeconfig, "400", "--snapshot", plain)
				b := looktest.RunAt(t, command, kubeconfig, "400", "--snapshot", hashed)
				if diff := cmp.Diff(shape(a.Out), shape(b.Out)); diff != "" || a.Code != b.Code {
					t.Errorf("%s, %s (-names +hashes):\n%s", world, user, diff)
				}
			}
		}
	}
}

// TestDoctorNeedsNoNamesOfTheInstallation examines hashes of an installation with a private registry, and of data
// planes.
func TestDoctorNeedsNoNamesOfTheInstallation(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/private.yaml").Serve(t)
	live := looktest.RunAt(t, doctor.Command, kubeconfig, "400")
	hashed := looktest.RunAt(t, doctor.Command, kubeconfig, "400", "--snapshot", taken(t, kubeconfig, "--hash-names"))
	if diff := cmp.Diff(shape(live.Out), shape(hashed.Out)); diff != "" || live.Code != hashed.Code ||
		!strings.Contains(live.Out, "Cilium 1.17.3 honours ipMode") {
		t.Errorf("(-names +hashes):\n%s", diff)
	}
}

// shape returns the lines of an output without names, sorted. The channel withdrawn has as its name a word of its own
// condition. With hashes, this word changes, and the condition looks as if a write were still to come.
func shape(text string) []string {
	name := regexp.MustCompile(
		`\b(?:svc-mux|x[0-9a-f-]{8,}|shop|chat|edge)/[a-z0-9-]+|\bedge-[0-9]|\bx[0-9a-f]{4}-[0-9a-f]{8}`)
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "jane", "hidden")) {
		if line = strings.Join(strings.Fields(name.ReplaceAllString(line, "N")), " "); line != "" &&
			!strings.Contains(line, "waits for the reconciler") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func TestDamagedFilesAreExplained(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/healthy.yaml").Serve(t)
	path := taken(t, kubeconfig)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, content []byte, want string) {
		file := filepath.Join(t.TempDir(), "damaged.gz")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		got := looktest.RunAt(t, status.Command, kubeconfig, "", "--snapshot", file)
		if got.Code != 1 || got.Out != "" || !strings.HasSuffix(got.Err, ": "+want) {
			t.Errorf("%s: exit code %d:\n%s%s", name, got.Code, got.Out, got.Err)
		}
	}
	const (
		incomplete = "the snapshot isn't complete, or damaged: copy the file again, or take a new snapshot"
		other      = "this isn't a snapshot: svcmux snapshot FILE takes one"
	)
	for _, size := range []int{20, 100, len(whole) / 2, len(whole) - 9, len(whole) - 1} {
		run("truncated", whole[:size], incomplete)
	}
	flipped := slices.Clone(whole)
	flipped[len(flipped)-6] ^= 1
	run("flipped", flipped, incomplete)
	run("text", []byte("kind: Service\n"), other)
	run("empty", nil, other)
	var newer bytes.Buffer
	packed := gzip.NewWriter(&newer)
	_, _ = packed.Write([]byte(`{"schema":"svc-lb-mux/snapshot/v2","release":"v3"}`))
	_ = packed.Close()
	run("newer", newer.Bytes(), "its format is svc-lb-mux/snapshot/v2, and this program reads svc-lb-mux/snapshot/v1: "+
		"use svcmux v3, or take a new snapshot")
}

// TestNamesCanBeHashedLater makes a snapshot of a snapshot.
func TestNamesCanBeHashedLater(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/healthy.yaml").Serve(t)
	path := taken(t, kubeconfig)
	if first, second := unpacked(t, path), unpacked(t, taken(t, kubeconfig, "--snapshot", path)); first != second {
		t.Errorf("a snapshot of a snapshot differs (-first +second):\n%s",
			cmp.Diff(strings.Split(first, "\n"), strings.Split(second, "\n")))
	}
	if text := unpacked(t, taken(t, kubeconfig, "--snapshot", path, "--hash-names")); !strings.Contains(text,
		`"hashed":true`) || regexp.MustCompile(`"name":"(rooms|web)`).MatchString(text) {
		t.Errorf("names aren't hashed")
	}
}

func TestMistakesOfSnapshot(t *testing.T) {
	kubeconfig, _ := looktest.Load(t, looktest.Worlds+"/healthy.yaml").Serve(t)
	path := taken(t, kubeconfig)
	for name, tc := range map[string]struct {
		command func(cli.Env) *cobra.Command
		args    []string
		code    int
		err     string
	}{
		"the file exists": {Command, []string{path}, 1, path + " exists: name another file, or remove this one"},
		"no such folder": {Command, []string{"/nix/a"}, 1,
			"the snapshot can't be written: open /nix/a: no such file or directory: name another file"},
		"no file": {Command, nil, 2, "name one file to write, or - for standard output (snapshot -h has " +
			"examples)"},
		"no such snapshot": {status.Command, []string{"--snapshot", "/nix"}, 1, "the snapshot can't be read: open /nix: " +
			"no such file or directory: name another file with --snapshot"},
		"a watch of snapshot": {status.Command, []string{"-w", "--snapshot", path}, 2,
			"-w: a snapshot doesn't change: leave out -w or --snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			got := looktest.RunAt(t, tc.command, kubeconfig, "", tc.args...)
			if got.Code != tc.code || got.Err != tc.err {
				t.Errorf("exit code %d, %q", got.Code, got.Err)
			}
		})
	}
}
