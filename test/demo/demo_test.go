package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nowake.ai/svc-lb-mux/test/docs/page"
	"nowake.ai/svc-lb-mux/test/long"
)

const lastLine = "Ctrl-C ends the cluster, and leaves nothing of it.\n"

// TestDemo runs the command of README.md and docs/getting-started.md, and then the commands that the demo prints. One
// of those is the shell of docs/test-cluster.md.
func TestDemo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT COVERED: the demo on a real node needs root; run as root to test it")
	}
	t.Parallel()
	d := startDemo(t, nil)
	d.await(t, lastLine)
	if err := page.Compare(likely(readme(t)), likely(d.said())); err != nil {
		t.Errorf("README.md shows an outdated output of the demo; copy the new one into it: %v", err)
	}
	follow(t, d, "This is the shop's web page, from pod web-", "Phase:          Succeeded")
	d.end(t, 0, "")
}

// TestDemoOfGateways runs `make demo GATEWAYS=1`.
func TestDemoOfGateways(t *testing.T) {
	long.Only(t, "test/e2e/gateways")
	d := startDemo(t, nil, "-gateways")
	d.await(t, lastLine)
	for _, want := range []string{"172.31.0.100   8443/TCP    shop/web     2", "The same connection brought"} {
		if !strings.Contains(d.said(), want) {
			t.Errorf("the demo doesn't print %q:\n%s", want, d.said())
		}
	}
	d.end(t, 0, "")
}

// TestDemoWithoutNodes runs the demo as a user without root sees it.
func TestDemoWithoutNodes(t *testing.T) {
	long.Only(t, "TestDemo; and the case \"a step fails\" starts without nodes")
	t.Parallel()
	d := startDemo(t, nil, "-nodes=0")
	d.await(t, lastLine)
	for _, want := range []string{"Without root no node runs pods here.", "shop/web     2",
		"The answer of pod chat/rooms-", `"htpp" is not one of`} {
		if !strings.Contains(d.said(), want) {
			t.Errorf("the demo doesn't print %q:\n%s", want, d.said())
		}
	}
	if strings.Contains(d.said(), "helm test") {
		t.Error("the demo suggests a command that runs a pod, although there is no node")
	}
	follow(t, d, "The answer of pod shop/web-")
	d.end(t, 0, "")
}

func TestFailureEndsWithASentenceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"a step fails": {nil, []string{"-nodes=0", "-chart=./nowhere"}, `path "./nowhere" not found`},
		"an unknown Kubernetes": {[]string{"K8S_VERSION=1.2.3"}, []string{"-nodes=0"},
			`K8S_VERSION="1.2.3" can't be built here`},
		"too many nodes":     {nil, []string{"-nodes=2"}, "-nodes=2: it shows what one node, or none, can show"},
		"a surplus argument": {nil, []string{"quickly"}, `it takes no "quickly"`},
		"an unknown flag":    {nil, []string{"-quickly"}, "flag provided but not defined: -quickly"},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDemo(t, tc.env, tc.args...)
			d.ended(t, 1, tc.want)
		})
	}
	t.Run("Ctrl-C during the start", func(t *testing.T) {
		long.Only(t, "a step fails, and TestDemo, which ends with Ctrl-C")
		d := startDemo(t, nil, "-nodes=0")
		d.await(t, "installed by its chart")
		if len(d.processes(t)) < 3 { // the demo, the keeper, init
			t.Errorf("the test doesn't find the demo's processes, only %q", d.processes(t))
		}
		d.end(t, 1, "interrupted; nothing is left of it")
	})
}

// readme returns the output that README.md shows.
func readme(t *testing.T) string {
	t.Helper()
	blocks, err := page.Read(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		if block.Mark == "test: demo" && block.Output != nil {
			return *block.Output
		}
	}
	t.Fatal("README.md shows no output of the demo")
	return ""
}

// likely removes the parts of the output that differ from run to run.
func likely(output string) string {
	for pattern, instead := range map[string]string{
		`took [0-9.]+ s`:                                                   "took a while",
		`  with cold caches this .*\n`:                                     "", // also printed on a slow machine
		`(/tmp/svc-lb-mux-)[0-9]+/[0-9]+`:                                  "${1}here",
		`(-in outside )[0-9]+`:                                             "${1}here",
		`from pod (web|rooms)-[a-z0-9]+-[a-z0-9]+`:                         "from pod ${1}",
		`(explicit|auto)  ( *)[0-9]+s +`:                                   "${1} a while ",
		`  10\.244\.[0-9.]+ (port 8080, pod shop/web)-[a-z0-9]+-[a-z0-9]+`: "  ${1}",
	} {
		output = regexp.MustCompile(pattern).ReplaceAllString(output, instead)
	}
	return strings.TrimLeft(output, "\n")
}

// follow runs the indented commands at the end of the output, exactly as printed.
func follow(t *testing.T, d *demo, wants ...string) {
	t.Helper()
	_, end, _ := strings.Cut(d.said(), "To look further")
	var commands []string
	for line := range strings.Lines(end) {
		if strings.HasPrefix(line, "  ") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	if len(commands) < 5 {
		t.Fatalf("the output ends with no commands to type: %q", commands)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/bash", "-euo", "pipefail", "-c", strings.Join(commands, "\n"))
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the printed commands fail: %v\n%s", err, out)
	}
	for _, want := range append(wants, "shop", "svc-mux.nowake.ai/ports: http:80->8443") {
		if !strings.Contains(string(out), want) {
			t.Errorf("the printed commands don't print %q:\n%s", want, out)
		}
	}
}
