package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/cluster/host"
)

// victimVariable turns this test binary into a process that starts a cluster and waits to be killed. Its value is the
// number of nodes.
const victimVariable = "CLUSTER_TEST_VICTIM"

func TestMain(m *testing.M) {
	host.Reexec()
	if nodes := os.Getenv(victimVariable); nodes != "" {
		victim(nodes)
	}
	Main(m)
}

func victim(nodes string) {
	var n int
	_, err := fmt.Sscan(nodes, &n)
	if err == nil {
		var c *Cluster
		if c, err = Up(context.Background(), Nodes(n)); err == nil {
			fmt.Println(c.Host.Dir)
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestKilledTestLeavesNothingOfItsCluster(t *testing.T) {
	t.Parallel()
	nodes := 0
	if os.Getuid() == 0 {
		nodes = 1
	}
	dir, kill := startVictim(t, nodes)
	f := footprintOf(t, dir)
	for kind, list := range f.traces(t) {
		if kind != "mounts" && len(list) == 0 {
			t.Errorf("the running cluster shows no %s, so this test couldn't find leftovers, either", kind)
		}
	}
	kill()
	Eventually(t, "everything of it is gone", func(context.Context) error {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s still exists", dir)
		}
		for kind, list := range f.traces(t) {
			if len(list) > 0 {
				return fmt.Errorf("%s are left: %v", kind, list)
			}
		}
		return nil
	})
}

// startVictim starts a process with a cluster. It returns the cluster's folder, and a function that kills the process.
func startVictim(t *testing.T, nodes int) (dir string, kill func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", victimVariable, nodes))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("the victim doesn't start a cluster: %v", cmd.Wait())
	}
	return lines.Text(), func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// footprint distinguishes the traces of a cluster from those of other clusters on this machine.
type footprint struct {
	dir  string
	born map[string]bool // processes by ID and start time, because IDs are reused
	nets map[string]bool // network namespaces: processes in them belong to the cluster
}

// footprintOf records a running cluster: its keeper and all descendants.
func footprintOf(t *testing.T, dir string) *footprint {
	t.Helper()
	f := &footprint{dir: dir, born: map[string]bool{}, nets: map[string]bool{}}
	here, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	family := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, p := range processes(t) {
			if f.born[p.born] || !family[p.parent] && !strings.HasPrefix(p.command, "svc-lb-mux-keeper "+dir) {
				continue
			}
			family[p.pid], f.born[p.born], grown = true, true, true
			if p.net != here && !f.nets[p.net] { // the keeper runs in the machine's own namespace
				f.nets[p.net] = true
				hold(t, p)
			}
		}
	}
	return f
}

// hold keeps a process's network namespace open during the test, so that its number isn't reused.
func hold(t *testing.T, p process) {
	t.Helper()
	namespace, err := os.Open(filepath.Join("/proc", p.pid, "ns", "net"))
	if err != nil {
		return // the process has ended
	}
	t.Cleanup(func() { _ = namespace.Close() })
}

// traces returns what this machine still has of the cluster.
func (f *footprint) traces(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{"processes": nil, "network namespaces": nil, "mounts": nil}
	for _, p := range processes(t) {
		if f.nets[p.net] {
			found["network namespaces"] = append(found["network namespaces"], p.net)
		}
		if f.born[p.born] || f.nets[p.net] || strings.Contains(p.command, f.dir) {
			found["processes"] = append(found["processes"], p.pid+" "+p.command)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, f.dir) || strings.Contains(line, "/run/node-") ||
			strings.Contains(line, "upperdir=/run/var") {
			found["mounts"] = append(found["mounts"], line)
		}
	}
	if os.Getuid() != 0 {
		return found // a plain user has no cgroups
	}
	found["cgroups"] = nil
	for _, hierarchies := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		groups, err := filepath.Glob(filepath.Join(hierarchies, "svc-lb-mux", filepath.Base(f.dir)))
		if err != nil {
			t.Fatal(err)
		}
		found["cgroups"] = append(found["cgroups"], groups...)
	}
	return found
}

type process struct{ pid, parent, born, net, command string }

// processes returns all processes of this machine. It leaves out processes that end meanwhile.
func processes(t *testing.T) []process {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		// A name may contain blanks and brackets.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if err != nil || len(fields) < 20 {
			continue
		}
		p := process{pid: filepath.Base(dir), parent: fields[1]}
		p.born = p.pid + " " + fields[19]
		p.net, _ = os.Readlink(filepath.Join(dir, "ns", "net")) // a zombie has none
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil {
			p.command = strings.ReplaceAll(string(line), "\x00", " ")
		}
		found = append(found, p)
	}
	return found
}
