package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	goodChannel = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: svc-mux.nowake.ai/mux
  allocateLoadBalancerNodePorts: false
  ports: [{name: http, port: 80}]
`
	warnedChannel = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: LoadBalancer, loadBalancerClass: svc-mux.nowake.ai/mux, ports: [{name: http, port: 80}]}
`
	badChannel = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: LoadBalancer, loadBalancerClass: svc-mux.nowake.ai/mux, ports: [{port: 80}]}
`
)

// TestBinary builds the command, and checks the exit codes of the process.
func TestBinary(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "svcmux")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	tests := map[string]struct {
		stdin string
		env   []string
		args  []string
		want  int
	}{
		"a valid channel on standard input": {stdin: goodChannel, args: []string{"validate", "-f", "-"}},
		"a bad channel":                     {stdin: badChannel, args: []string{"validate", "-f", "-"}, want: 1},
		"a bad channel of another prefix": {
			stdin: badChannel, env: []string{"API_PREFIX=mux.example.com"}, args: []string{"validate", "-f", "-"},
		},
		"a warning with --strict":  {stdin: warnedChannel, args: []string{"validate", "--strict", "-f", "-"}, want: 1},
		"an unreadable file":       {args: []string{"validate", "-f", "validate/testdata/tree"}, want: 2},
		"a shell's pipe as a file": {stdin: badChannel, args: []string{"validate", "-f", "/dev/stdin"}, want: 1},
		"an unknown format":        {args: []string{"validate", "-f", "validate/testdata", "-o", "pdf"}, want: 2},
		"no verb":                  {want: 2},
		"the version":              {args: []string{"--version"}},
		"a verb's help":            {args: []string{"validate", "-h"}},
		"a megabyte of brackets":   {stdin: strings.Repeat("[", 1<<20), args: []string{"validate", "-f", "-"}, want: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			cmd := exec.Command(binary, tc.args...)
			cmd.Stdin, cmd.Stderr, cmd.Env = strings.NewReader(tc.stdin), &stderr, tc.env
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tc.want || strings.Contains(stderr.String(), "goroutine ") {
				t.Errorf("exit code %d, want %d; stderr:\n%s", got, tc.want, &stderr)
			}
		})
	}
}
