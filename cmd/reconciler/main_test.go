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

func TestRun(t *testing.T) {
	type outcome struct {
		Code           int
		Stdout, Stderr string // of Stderr, only the first line: usage texts and logs follow
	}
	tests := map[string]struct {
		args []string
		want outcome
	}{
		"the version": {
			args: []string{"--version"}, want: outcome{Stdout: "reconciler " + version.String() + "\n"},
		},
		"help succeeds": {args: []string{"--help"}, want: outcome{Stderr: "Usage of reconciler:"}},
		"an argument is refused and named": {
			args: []string{"serve"}, want: outcome{Code: 2, Stderr: `reconciler: takes no arguments, got "serve"; try --help`},
		},
		"an unknown flag is refused and named": {
			args: []string{"--port=8443"}, want: outcome{Code: 2, Stderr: "flag provided but not defined: -port"},
		},
		"an invalid value is refused with a remedy": {
			args: []string{"--kubeconfig=x", "--log-level=loud"},
			want: outcome{Code: 2, Stderr: `reconciler: --log-level "loud": write debug, info, warn or error`},
		},
		"a missing API server address": {
			want: outcome{Code: 2, Stderr: "reconciler: --kubeconfig (KUBECONFIG) is empty, and this process isn't in a pod " +
				"of a cluster: name the file with the connection to the API server"},
		},
		"a missing kubeconfig": {
			args: []string{"--kubeconfig=/not/there"},
			want: outcome{Code: 1, Stderr: `reconciler: --kubeconfig "/not/there": stat /not/there: no such file or directory`},
		},
		"an address of another machine": {
			args: []string{"--kubeconfig=" + kubeconfig(t), "--probe-address=192.0.2.1:8081"},
			want: outcome{Code: 1, Stderr: `reconciler: --probe-address "192.0.2.1:8081": listen tcp 192.0.2.1:8081: bind: ` +
				`cannot assign requested address`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			got := outcome{Code: program(nothing).Start(t.Context(), tc.args, &stdout, &stderr)}
			got.Stdout = stdout.String()
			got.Stderr, _, _ = strings.Cut(stderr.String(), "\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reconciler %q (-want +got):\n%s", tc.args, diff)
			}
		})
	}
}

func nothing(string) string { return "" }

// kubeconfig returns a kubeconfig with a port that nothing listens on.
func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := os.WriteFile(path, []byte(`{
		"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
		"clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}],
		"users": [{"name": "x", "user": {"token": "x"}}]
	}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStoppedProcessExits0(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	args := []string{"--kubeconfig=" + kubeconfig(t), "--probe-address=127.0.0.1:0"}
	if code := program(nothing).Start(ctx, args, io.Discard, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
