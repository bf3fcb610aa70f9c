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

// need is a program of the distribution, and the Debian package that has it.
type need struct{ program, pkg string }

func needsOf(o options) []need {
	needs := []need{{"ip", "iproute2"}, {"nft", "nftables"}}
	if o.proxyMode == "iptables" {
		needs = append(needs, need{"iptables", "iptables"})
	}
	if o.nodes > 0 {
		needs = append(needs, need{"containerd", "containerd"}, need{"ctr", "containerd"}, need{"runc", "runc"},
			need{"mount", "mount"},
			need{cniPlugins + "/ptp", "containernetworking-plugins"}, need{"iptables", "iptables"})
	}
	return needs
}

// missingPackages returns an error that names missing packages, and the command that installs them.
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

// find looks for a program in PATH, and in folders that a plain user's PATH lacks.
func find(program string) string {
	for _, candidate := range []string{program, filepath.Join("/usr/sbin", program), filepath.Join("/sbin", program)} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}

// requireNodes skips a test that needs nodes if they can't run, and logs what remains untested.
func requireNodes(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT COVERED: real nodes (containerd, kubelet, pods) need root; run as root to test them")
	}
}
