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

// victimVariable makes this test binary a process that starts a cluster and waits to be killed; its value says how
// many nodes the cluster has.
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

func TestNothingIsLeftOfAClusterWhoseTestWasKilled(t *testing.T) {
	nodes := 0
	if os.Getuid() == 0 {
		nodes = 1
	}
	before := traces(t)
	dir, kill := startVictim(t, nodes)
	during := traces(t)
	for kind, list := range during {
		if kind != "mounts" && len(list) <= len(before[kind]) {
			t.Errorf("while the cluster runs there are no %s to be seen: this test would see nothing left, either", kind)
		}
	}
	kill()
	Eventually(t, "everything of it is gone", func(context.Context) error {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is there", dir)
		}
		for kind, list := range traces(t) {
			if extra := without(list, before[kind]); len(extra) > 0 {
				return fmt.Errorf("%s are left: %v", kind, extra)
			}
		}
		return nil
	})
}

// startVictim returns the folder of a cluster, and how to kill its owner.
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
		t.Fatalf("the victim started no cluster: %v", cmd.Wait())
	}
	return lines.Text(), func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// traces are what a cluster could leave on this machine.
func traces(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil && !seen[name] {
			seen[name] = true
			found["network namespaces"] = append(found["network namespaces"], name)
		}
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range commands {
		line, err := os.ReadFile(file)
		if err == nil && (strings.Contains(string(line), host.Root()+"/") || strings.Contains(string(line), "/run/node-")) {
			found["processes"] = append(found["processes"], strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	found["mounts"] = strings.Split(string(mounts), "\n")
	if os.Getuid() == 0 {
		groups, err := filepath.Glob("/sys/fs/cgroup/*/svc-lb-mux/*")
		if err != nil {
			t.Fatal(err)
		}
		unified, err := filepath.Glob("/sys/fs/cgroup/svc-lb-mux/*")
		if err != nil {
			t.Fatal(err)
		}
		found["cgroups"] = append(groups, unified...)
	}
	return found
}

func without(list, known []string) []string {
	old := map[string]bool{}
	for _, item := range known {
		old[item] = true
	}
	var rest []string
	for _, item := range list {
		if !old[item] {
			rest = append(rest, item)
		}
	}
	return rest
}
