package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// small returns a product that builds quickly, in its own checkout.
func small(t *testing.T) (Cache, Product, *bytes.Buffer) {
	t.Helper()
	source, said := t.TempDir(), &bytes.Buffer{}
	write(t, filepath.Join(source, "small", "go.mod"), "module small\n\ngo 1.26.0\n")
	write(t, filepath.Join(source, "small", "main.go"), "package main\n\nfunc main() { println(\"small\") }\n")
	write(t, filepath.Join(source, "small", "other", "main.go"), "package main\n\nfunc main() { println(\"other\") }\n")
	cache := Cache{Dir: filepath.Join(t.TempDir(), "cache"), Source: source, Progress: Progress{To: said}}
	return cache, Product{Name: "small", Version: "1", folder: "small", pkg: ".", binary: "small", links: []string{"tiny"},
		more: []string{"./other"}}, said
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func need(t *testing.T, c Cache, p Product) string {
	t.Helper()
	dirs, err := c.Need(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return dirs[p.Name]
}

func TestABuildIsKeptUntilItsSourcesChange(t *testing.T) {
	c, p, said := small(t)
	dir := need(t, c, p)
	for program, want := range map[string]string{"tiny": "small\n", "other": "other\n"} {
		out, err := exec.Command(filepath.Join(dir, program)).CombinedOutput()
		if err != nil || string(out) != want {
			t.Fatalf("%s prints %q, %v", program, out, err)
		}
	}
	if again := need(t, c, p); again != dir || strings.Count(said.String(), "done after") != 1 {
		t.Errorf("an unchanged product was built again, in %s:\n%s", again, said)
	}
	write(t, filepath.Join(c.Source, "small", "main_test.go"), "package main\n")
	write(t, filepath.Join(c.Source, "small", "other.mod"), "module small\n")
	write(t, filepath.Join(c.Source, "small", "main.go~"), "what an editor leaves")
	if again := need(t, c, p); again != dir {
		t.Error("a test, or the modfile of another version, changes the key")
	}
	write(t, filepath.Join(c.Source, "small", "main.go"), "package main\n\nfunc main() { println(\"changed\") }\n")
	if again := need(t, c, p); again == dir {
		t.Error("changed sources keep the key")
	}
	p.ldflags = []string{"-X main.version=2"}
	if again := need(t, c, p); again == dir {
		t.Error("changed flags keep the key")
	}
}

func TestTwoBuildsAtOnceDoNotCollide(t *testing.T) {
	c, p, said := small(t)
	c.Progress.To = &locked{to: said}
	var both sync.WaitGroup
	var dirs [4]string
	for i := range dirs {
		both.Go(func() { dirs[i] = need(t, c, p) })
	}
	both.Wait()
	if len(slices.Compact(dirs[:])) != 1 || strings.Count(said.String(), "building small 1: done") != 1 {
		t.Errorf("%v\n%s", dirs, said)
	}
}

type locked struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (l *locked) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(data)
}

// TestMain lets this test binary act as a builder that another process kills.
func TestMain(m *testing.M) {
	if source := os.Getenv("BINARIES_TEST_SOURCE"); source != "" {
		c := Cache{Dir: os.Getenv(CacheVariable), Source: source}
		p := Product{Name: "small", Version: "1", folder: "small", pkg: ".", binary: "small"}
		_, err := c.Need(context.Background(), p)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestKilledBuildLeavesNoPartialResult(t *testing.T) {
	c, p, _ := small(t)
	p.links, p.more = nil, nil
	builder := exec.Command("/proc/self/exe")
	builder.Env = append(os.Environ(), "BINARIES_TEST_SOURCE="+c.Source, CacheVariable+"="+c.Dir)
	if err := builder.Start(); err != nil {
		t.Fatal(err)
	}
	partial := filepath.Join(c.Dir, ".small.partial")
	for range 1000 {
		if _, err := os.Stat(partial); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = builder.Process.Signal(syscall.SIGKILL)
	_ = builder.Wait()
	if _, err := os.Stat(partial); err != nil {
		t.Fatalf("the builder wasn't killed during the build: %v", err)
	}
	if finished, _ := filepath.Glob(filepath.Join(c.Dir, "small-*")); len(finished) != 0 {
		t.Fatalf("a killed build looks finished: %v", finished)
	}
	if _, err := os.Stat(filepath.Join(need(t, c, p), "small")); err != nil {
		t.Errorf("the next build: %v", err)
	}
	if _, err := os.Stat(partial); err == nil {
		t.Error("the killed build's files still exist")
	}
}

func TestErrorsSuggestARemedy(t *testing.T) {
	t.Run("sources that don't compile", func(t *testing.T) {
		c, p, _ := small(t)
		write(t, filepath.Join(c.Source, "small", "main.go"), "package main\n\nfunc main() { nonsense() }\n")
		_, err := c.Need(t.Context(), p)
		if err == nil || !strings.Contains(err.Error(), "build small 1") ||
			!strings.Contains(err.Error(), "undefined: nonsense") {
			t.Errorf("got %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(c.Dir, "*small*")); len(left) != 1 { // the lock file
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("a cache that can't be made", func(t *testing.T) {
		c, p, _ := small(t)
		write(t, c.Dir, "a file in its place")
		if _, err := c.Need(t.Context(), p); err == nil || !strings.Contains(err.Error(), "set "+CacheVariable) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an interrupted build", func(t *testing.T) {
		c, p, _ := small(t)
		p.ldflags = []string{"-X main.never=seen"} // changed flags force a build
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := c.Need(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(c.Dir, "*small-*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("an unknown version", func(t *testing.T) {
		t.Setenv("K8S_VERSION", "1.2.3")
		_, err := KubernetesVersion()
		if err == nil || !strings.Contains(err.Error(), `"1.2.3"`) ||
			!strings.Contains(err.Error(), "1.33.13, 1.34.4, 1.35.4, 1.36.3, 1.37.2") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a relative path of the cache is relative to the working directory", func(t *testing.T) {
		t.Setenv(CacheVariable, "relative")
		c, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		if here, _ := os.Getwd(); c.Dir != filepath.Join(here, "relative") {
			t.Errorf("the cache is %s", c.Dir)
		}
	})
	t.Run("no go in PATH", func(t *testing.T) {
		t.Setenv("PATH", "/nonexistent")
		if _, err := Open(); err == nil || !strings.Contains(err.Error(), "install Go") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a folder outside of a checkout", func(t *testing.T) {
		t.Chdir(t.TempDir())
		if _, err := Open(); err == nil || !strings.Contains(err.Error(), "inside a checkout") {
			t.Errorf("got %v", err)
		}
	})
}

func TestFullDiskIsReported(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT COVERED: a full disk needs a small file system, which only root can mount")
	}
	c, p, _ := small(t)
	full := t.TempDir()
	if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(full, 0); err != nil {
			t.Error(err)
		}
	})
	c.Dir = full
	_, err := c.Need(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), CacheVariable) {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(full, "*small-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestVersionsAreThoseOfTheModules compares versions.go with the modules' files.
func TestVersionsAreThoseOfTheModules(t *testing.T) {
	pins := map[string]string{
		"helm3/go.mod":       "helm.sh/helm/v3 v" + Helm3Version,
		"helm4/go.mod":       "helm.sh/helm/v4 v" + Helm4Version,
		"kwok/go.mod":        "sigs.k8s.io/kwok v" + KwokVersion,
		"certmanager/go.mod": "github.com/cert-manager/cert-manager v" + CertManagerVersion,

		"../../gitops/flux/go.mod": "github.com/fluxcd/pkg/ssa v" + FluxVersion,
		"../../gitops/argo/go.mod": "github.com/argoproj/argo-cd/gitops-engine v" + ArgoVersion,

		"../../dataplane/foreign/cilium/go.mod": "github.com/cilium/cilium v" + CiliumVersion,

		"../../e2e/gatewayapi/envoygateway/go.mod": "github.com/envoyproxy/gateway v" + EnvoyGatewayVersion,

		"../../e2e/reconciler/externaldns/go.mod":    "sigs.k8s.io/external-dns v" + ExternalDNSVersion,
		"../../e2e/reconciler/externaldns/v0.21.mod": "sigs.k8s.io/external-dns v" + FormerExternalDNSVersion,
	}
	for _, k := range kubernetesModfiles {
		pins["kubernetes/"+k.modfile] = "k8s.io/kubernetes v" + k.version
	}
	for file, pin := range pins {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^(require |\t)` + regexp.QuoteMeta(pin) + `( // indirect)?$`).Match(data) {
			t.Errorf("%s does not require %s", file, pin)
		}
	}
}

// TestModulesShareLibraries checks that the products are built with our versions of the libraries that they share with
// us. An empty cache then compiles client-go and the like once. Cilium and older versions of Kubernetes need older
// libraries.
func TestModulesShareLibraries(t *testing.T) {
	ours := versions(t, "../../..")
	for _, p := range []Product{Kubernetes(DefaultKubernetes), Helm3(), Helm4(), Kwok(), CertManager(), Flux(), Argo()} {
		folder := filepath.Join("..", p.folder)
		theirs := versions(t, folder)
		if theirs["k8s.io/client-go"] == "" {
			t.Errorf("%s has no client-go: does the test read its modules?", p.Name)
		}
		for module, version := range theirs {
			if want := ours[module]; want != "" && version != want {
				t.Errorf("%s has %s %s, and the product has %s: run go get %s@%s in both, and go mod tidy", p.Name, module, version,
					want, module,
					slices.MaxFunc([]string{version, want}, semver.Compare))
			}
		}
	}
}

// versions returns the versions of a folder's modules, after replacements.
func versions(t *testing.T, folder string) map[string]string {
	t.Helper()
	path := filepath.Join(folder, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(path, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range file.Require {
		found[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range file.Replace {
		if _, used := found[r.Old.Path]; used {
			found[r.Old.Path] = r.New.Version
		}
	}
	return found
}

func TestProgressIsPlainWithoutATerminal(t *testing.T) {
	var said bytes.Buffer
	Progress{To: &said}.Begin("building it", "it takes long")("done")
	if !regexp.MustCompile(`^building it \(it takes long\)\nbuilding it: done after \d+m?s\n$`).MatchString(
		said.String()) {
		t.Errorf("without a terminal: %q", said.String())
	}
	said.Reset()
	Progress{To: &said, Terminal: true}.Begin("building it", "")("done")
	if !strings.Contains(said.String(), "\r\033[Kbuilding it: 0s") {
		t.Errorf("on a terminal: %q", said.String())
	}
}
