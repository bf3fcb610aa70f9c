package balancer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nowake.ai/svc-lb-mux/balancer/keepalived"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/test/nettest"
)

// daemon is Debian's keepalived in a namespace.
type daemon struct {
	command *exec.Cmd
	ended   chan struct{}
}

// runKeepalived starts keepalived with a configuration file in a folder, which has these lines.
func runKeepalived(t *testing.T, in *nettest.Namespace, folder string, lines ...string) *daemon {
	t.Helper()
	config := filepath.Join(folder, "keepalived.conf")
	text := "global_defs {\n    router_id " + filepath.Base(folder) + "\n}\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &daemon{exec.Command("keepalived", "--dont-fork", "--log-console", "--log-detail", "--vrrp", "--use-file="+config,
		"--pid="+folder+"/pid", "--vrrp_pid="+folder+"/vrrp.pid"), make(chan struct{})}
	d.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log := logOf(t)
	d.command.Stdout, d.command.Stderr = log, log
	if err := in.Inside(d.command.Start); err != nil {
		t.Fatal(err)
	}
	go func() { _ = d.command.Wait(); close(d.ended) }()
	t.Cleanup(d.kill)
	return d
}

// kill ends keepalived and its child at once.
func (d *daemon) kill() {
	_ = syscall.Kill(-d.command.Process.Pid, syscall.SIGKILL)
	<-d.ended
}

func include(folder string) string { return "include " + folder + "/svc-lb-mux.conf" }

// withKeepalived starts a keepalived for a gateway. It returns a function that makes the gateway's settings use it.
func (s *segment) withKeepalived(t *testing.T, name string) (func(*childConfig), *daemon) {
	t.Helper()
	if _, err := exec.LookPath("keepalived"); err != nil {
		t.Skip("NOT COVERED without keepalived; on Debian: apt-get install keepalived, or make deps")
	}
	folder := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "svc-lb-mux.conf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := runKeepalived(t, map[string]*nettest.Namespace{"a": s.a, "b": s.b}[name], folder, include(folder))
	return func(c *childConfig) {
		if c.Name == name {
			c.Mode, c.Keepalived = keepalived.Mode, folder
		}
	}, d
}

// TestKeepalivedAndTheBuiltInRoutersShareSeats has gateway b on Debian's keepalived, as a backup and as the preferred
// one.
func TestKeepalivedAndTheBuiltInRoutersShareSeats(t *testing.T) {
	for name, unicast := range map[string]bool{"multicast": false, "unicast": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSegment(t)
			change, _ := s.withKeepalived(t, "b")
			both := func(c *childConfig) { c.Unicast = unicast; change(c) }
			a, b := s.pair(both)
			s.awaitAnswers()

			a.end(syscall.SIGKILL)
			s.front.Run("ip", "link", "set", "to-a", "down")
			eventually(t, "keepalived of gateway b holds the seat", func() bool {
				return holds(s.b) && slices.Equal(b.reported().Holds, []uint8{7})
			})
			s.awaitAnswers()
			s.front.Run("ip", "link", "set", "to-a", "up")
			config := s.config("a")
			both(&config)
			a = start(t, s.a, config)
			a.post(news("a", "b"))
			eventually(t, "gateway a alone holds the seat again", func() bool { return holds(s.a) && isFree(s.b) })
			s.awaitAnswers()

			a.post(news("b", "a"))
			b.post(news("b", "a"))
			eventually(t, "gateway b, now the preferred one, alone holds the seat", func() bool {
				return holds(s.b) && isFree(s.a)
			})
			s.awaitAnswers()
			if faults := slices.Concat(a.reported().Faults, b.reported().Faults); len(faults) > 0 {
				t.Errorf("faults are reported: %v", faults)
			}
		})
	}
}

// TestReloadsOfKeepalivedLoseNoAddress adds a mux and takes it away while the addresses of another one are watched.
func TestReloadsOfKeepalivedLoseNoAddress(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	first, deadly := s.withKeepalived(t, "a")
	second, _ := s.withKeepalived(t, "b")
	a, b := s.pair(func(c *childConfig) { first(c); second(c) })
	s.awaitAnswers()

	watched := filepath.Join(t.TempDir(), "addresses")
	s.a.Run("sh", "-c", "ip -o monitor address > "+watched+" 2>&1 & echo $! > "+watched+".pid")
	for range 3 {
		for _, n := range []*newsText{newsOfTwo("a", "b"), news("a", "b")} {
			a.post(n)
			b.post(n)
			hasTwo := len(n.Muxes) == 2
			eventually(t, "keepalived follows", func() bool { return has(s.a, "10.9.1.101") == hasTwo })
			if err := s.answers(); err != nil {
				t.Error(err)
			}
		}
	}
	s.a.Run("sh", "-c", "kill $(cat "+watched+".pid)")
	text, err := os.ReadFile(watched)
	if err != nil || !strings.Contains(string(text), "10.9.1.101") {
		t.Fatalf("the watch saw nothing: %v %s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "Deleted") &&
			(strings.Contains(line, "10.9.1.100") || strings.Contains(line, "fd09:1::100")) {
			t.Errorf("an address went: %s", line)
		}
	}

	a.end(syscall.SIGTERM)
	if !holds(s.a) {
		t.Error("the end of the agent moves the seat, although keepalived runs")
	}
	s.awaitAnswers()
	deadly.kill()
	s.front.Run("ip", "link", "set", "to-a", "down")
	eventually(t, "gateway b holds the seat", func() bool { return holds(s.b) })
	s.awaitAnswers()
}

// TestWithoutKeepalivedTheFaultNamesTheWayOut: the process doesn't run, and later doesn't read the agent's file.
func TestWithoutKeepalivedTheFaultNamesTheWayOut(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	change, d := s.withKeepalived(t, "a")
	d.kill()
	config := s.config("a")
	change(&config)
	a := start(t, s.a, config)
	a.post(news("a"))
	awaitFault(t, a, keepalived.NotRunning, "systemctl start keepalived")
	deaf := runKeepalived(t, s.a, config.Keepalived)
	awaitFault(t, a, keepalived.NotFollowing, "included in keepalived.conf")
	deaf.kill()
	runKeepalived(t, s.a, config.Keepalived, include(config.Keepalived))
	eventually(t, "keepalived holds the seat of which it read at its start", func() bool {
		return holds(s.a) && len(a.reported().Faults) == 0
	})
}

func awaitFault(t *testing.T, k *child, reason, words string) {
	t.Helper()
	eventually(t, "the fault "+reason+" is reported", func() bool {
		r := k.reported()
		return r != nil && slices.ContainsFunc(r.Faults,
			func(f lease.Refusal) bool { return f.Reason == reason && strings.Contains(f.Message, words) })
	})
}
