package cluster

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is the user ID of a user without rights.
const nobody = 65534

// TestWithoutRoot runs tests of the control plane as a plain user, in a user namespace.
func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("the whole suite runs without root here already")
	}
	cache := worldReadable(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^(TestWarmStart|TestNodes)$", "-test.v")
	cmd.Env = append(os.Environ(), "SVC_LB_MUX_CACHE="+cache, "HOME="+cache)
	cmd.Dir = filepath.Join(cache, "checkout")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestWarmStart") {
		t.Errorf("the control plane wasn't started:\n%s", out)
	}
	if !strings.Contains(string(out), "NOT COVERED: real nodes") {
		t.Errorf("the output doesn't name what can't be tested without root:\n%s", out)
	}
}

// worldReadable copies the binaries, and the sources that determine their names, to a folder that other users can read.
// root's own cache is closed to others, and the checkout may be, too.
func worldReadable(t *testing.T) string {
	t.Helper()
	built, err := Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.MkdirTemp("", "svc-lb-mux-test-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(cache) })
	from := built["kubernetes"]
	to := filepath.Join(cache, filepath.Base(from))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	sources := filepath.Join("test", "cluster", "binaries", "kubernetes")
	if err := os.CopyFS(filepath.Join(cache, "checkout", sources),
		os.DirFS(filepath.Join("..", "..", "..", sources))); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(cache, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	return cache
}
