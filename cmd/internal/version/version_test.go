package version

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoose(t *testing.T) {
	module := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}}
	}
	tests := map[string]struct {
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		"the linker's word comes first":              {linked: "v1.2.3", info: module("v9.9.9"), want: "v1.2.3"},
		"an installed module names its own version":  {info: module("v1.2.3"), want: "v1.2.3"},
		"a build from a work tree is a devel build":  {info: module("(devel)"), want: "devel"},
		"a test binary has no version of its module": {info: module(""), want: "devel"},
		"a binary without build info is devel too":   {want: "devel"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := choose(tc.linked, tc.info); got != tc.want {
				t.Errorf("choose(%q, …) = %q, want %q", tc.linked, got, tc.want)
			}
		})
	}
}

func TestOnly(t *testing.T) {
	type outcome struct {
		Code           int
		Stdout, Stderr string // of Stderr, the first line: usage texts follow
	}
	tests := map[string]struct {
		args []string
		want outcome
	}{
		"the version is printed": {
			args: []string{"--version"},
			want: outcome{Stdout: "webhook " + String() + "\n"},
		},
		"help is no failure": {
			args: []string{"--help"},
			want: outcome{Stderr: "Usage of webhook:"},
		},
		"without a flag it doesn't pretend to run": {
			want: outcome{Code: 2, Stderr: "webhook: this build only reports its version; run it with --version"},
		},
		"an argument is refused by name": {
			args: []string{"--version", "serve"},
			want: outcome{Code: 2, Stderr: `webhook: takes no arguments, got "serve"; try --version`},
		},
		"an unknown flag is refused by name": {
			args: []string{"--port=8443"},
			want: outcome{Code: 2, Stderr: "flag provided but not defined: -port"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			got := outcome{Code: Only("webhook", tc.args, &stdout, &stderr)}
			got.Stdout = stdout.String()
			got.Stderr, _, _ = strings.Cut(stderr.String(), "\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("webhook %q (-want +got):\n%s", tc.args, diff)
			}
		})
	}
}
