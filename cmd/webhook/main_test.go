package main

import (
	"context"
	"io"
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
			args: []string{"--version"}, want: outcome{Stdout: "webhook " + version.String() + "\n"},
		},
		"help succeeds": {args: []string{"--help"}, want: outcome{Stderr: "Usage of webhook:"}},
		"an argument is refused and named": {
			args: []string{"serve"}, want: outcome{Code: 2, Stderr: `webhook: takes no arguments, got "serve"; try --help`},
		},
		"an unknown flag is refused and named": {
			args: []string{"--port=8443"}, want: outcome{Code: 2, Stderr: "flag provided but not defined: -port"},
		},
		"an invalid value is refused with a remedy": {
			args: []string{"--default-mux-namespace=x", "--log-level=loud"},
			want: outcome{Code: 2, Stderr: `webhook: --log-level "loud": write debug, info, warn or error`},
		},
		"an address of another machine": {
			args: []string{"--default-mux-namespace=x", "--address=192.0.2.1:9443"},
			want: outcome{Code: 1, Stderr: `webhook: --address "192.0.2.1:9443": listen tcp 192.0.2.1:9443: bind: ` +
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
				t.Errorf("webhook %q (-want +got):\n%s", tc.args, diff)
			}
		})
	}
}

func nothing(string) string { return "" }

func TestStoppedProcessExits0(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	args := []string{
		"--default-mux-namespace=x", "--address=127.0.0.1:0", "--probe-address=127.0.0.1:0", "--drain-delay=0",
		"--cert-dir=" + t.TempDir(),
	}
	if code := program(nothing).Start(ctx, args, io.Discard, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
