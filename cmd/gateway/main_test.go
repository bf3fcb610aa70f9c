package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/cmd/internal/version"
)

func nothing(string) string { return "" }

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig returns a kubeconfig with a port that nothing listens on.
func kubeconfig(t *testing.T) string {
	return file(t, "kubeconfig", `{
		"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
		"clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}],
		"users": [{"name": "x", "user": {"token": "x"}}]
	}`)
}

func pools(t *testing.T) string {
	return file(t, "pools.yaml", "pools: [{name: p, addresses: [192.0.2.0/24], routerIDs: [7]}]")
}

func TestRun(t *testing.T) {
	type outcome struct {
		Code           int
		Stdout, Stderr string // of Stderr, only the first line
	}
	for name, tc := range map[string]struct {
		args []string
		want outcome
	}{
		"the version":        {[]string{"--version"}, outcome{Stdout: "gateway " + version.String() + "\n"}},
		"help succeeds":      {[]string{"--help"}, outcome{Stderr: "Usage: gateway <command> [flags]"}},
		"no command":         {nil, outcome{Code: 2, Stderr: "Usage: gateway <command> [flags]"}},
		"an unknown command": {[]string{"serve"}, outcome{Code: 2, Stderr: `gateway: unknown command "serve"`}},
		"a command's version": {[]string{"controller", "--version"},
			outcome{Stdout: "gateway controller " + version.String() + "\n"}},
		"a command without flags": {[]string{"controller"},
			outcome{Code: 2, Stderr: "gateway controller: --pools is empty: name the file with the pools of addresses"}},
		"an address of another machine": {
			[]string{"controller", "--pools=" + pools(t), "--kubeconfig=" + kubeconfig(t), "--probe-address=192.0.2.1:8081"},
			outcome{
				Code: 1, Stderr: `gateway controller: --probe-address "192.0.2.1:8081": listen tcp 192.0.2.1:8081: bind: cannot ` +
					`assign requested address`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			got := outcome{Code: start(t.Context(), nothing, tc.args, &stdout, &stderr)}
			got.Stdout = stdout.String()
			got.Stderr, _, _ = strings.Cut(stderr.String(), "\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("gateway %q (-want +got):\n%s", tc.args, diff)
			}
		})
	}
}

func TestStoppedProcessExits0(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	args := []string{"controller", "--pools=" + pools(t), "--kubeconfig=" + kubeconfig(t), "--probe-address=127.0.0.1:0"}
	if code := start(ctx, nothing, args, io.Discard, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
