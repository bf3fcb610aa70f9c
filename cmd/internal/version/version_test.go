package version

import (
	"runtime/debug"
	"testing"
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
		"the linker's version comes first":           {linked: "v1.2.3", info: module("v9.9.9"), want: "v1.2.3"},
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
