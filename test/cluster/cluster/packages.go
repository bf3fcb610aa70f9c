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
		needs = append(needs, need{"containerd", "containerd"}, need{"runc", "runc"}, need{"mount", "mount"},
			need{cniPlugins + "/ptp", "containernetworking-plugins"}, need{"iptables", "iptables"})
	}
	return needs
}

// missingPackages names what the distribution must provide, and the command that makes it do so.
func missingPackages(o options) error {
	var programs, packages []string
	for _, n := range needsOf(o) {
		if _, err := exec.LookPath(n.program); err == nil || inSbin(n.program) {
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

// inSbin looks where a plain user's PATH doesn't.
func inSbin(program string) bool {
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			return true
		}
	}
	return false
}

// requireNodes skips a test where nodes can't be had, and says what that leaves untested.
func requireNodes(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT COVERED: real nodes (containerd, kubelet, pods) need root; run as root to test them")
	}
}
