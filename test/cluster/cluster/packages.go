package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A need is a program from the distribution, and Debian's package that has it.
type need struct{ program, pkg string }

func needsOf(o options) []need {
	needs := []need{{"ip", "iproute2"}, {"nft", "nftables"}}
	if o.proxyMode == "iptables" {
		needs = append(needs, need{"iptables", "iptables"})
	}
	if o.nodes > 0 {
		needs = append(needs, need{"containerd", "containerd"}, need{"ctr", "containerd"}, need{"runc", "runc"}, need{"mount", "mount"},
			need{cniPlugins + "/ptp", "containernetworking-plugins"}, need{"iptables", "iptables"})
	}
	return needs
}

// missingPackages names what the distribution must provide, and the command that makes it do so.
func missingPackages(o options) error {
	var programs, packages []string
	for _, n := range needsOf(o) {
		if find(n.program) != "" {
			continue
		}
		programs = append(programs, filepath.Base(n.program))
		packages = append(packages, n.pkg)
	}
	if len(programs) == 0 {
		return nil
	}
	slices.Sort(packages)
	return fmt.Errorf("a test cluster needs %s: install with `make deps`, or `sudo apt-get install -y %s`",
		strings.Join(programs, ", "), strings.Join(slices.Compact(packages), " "))
}

// find looks for a program in PATH, and where a plain user's PATH doesn't.
func find(program string) string {
	for _, candidate := range []string{program, filepath.Join("/usr/sbin", program), filepath.Join("/sbin", program)} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}

// requireNodes skips a test where nodes can't be had, and says what that leaves untested.
func requireNodes(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT COVERED: real nodes (containerd, kubelet, pods) need root; run as root to test them")
	}
}
