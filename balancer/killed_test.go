package balancer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nowake.ai/svc-lb-mux/test/long"
)

// writes are the system calls that change the kernel's tables and addresses, or the state on disk. Some calls only ask
// the kernel.
const writes = "sendto,sendmsg,renameat,fsync"

// TestAgentIsKilledAfterEachWrite has strace kill the agent as it begins its nth write, in a start or a change. A new
// agent must finish the work: the tables become those of an agent that nobody killed. Meanwhile, the machine's own
// services must not answer on the mux's address.
func TestAgentIsKilledAfterEachWrite(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("NOT COVERED without strace; on Debian: apt-get install strace, or make deps")
	}
	s := newSegment(t)
	s.a.Serve(22) // as sshd of the machine
	config := s.config("a")
	one, both := only("11"), news("a")
	a := s.alone(config)
	withBoth := s.tables()
	a.post(one)
	eventually(t, "one backend is left", func() bool { return !strings.Contains(listed(s.a), "10.9.2.12") })
	withOne := s.tables()
	a.end(syscall.SIGKILL)

	most := 12
	if long.Runs() {
		most = 40
	}
	points := map[int]bool{}
	for n := 1; n <= most; n++ {
		fresh := n%2 == 0 // every second time, from nothing
		if fresh {
			s.forget(config.State)
		}
		at := s.killedAt(config, n, one, both)
		points[at] = true
		if who, _, err := s.client.AskWithin(100*time.Millisecond, mux4(), 22); err == nil {
			t.Fatalf("killed after %d writes: %s answers on port 22 of the mux", at, who)
		}
		last, want := one, withOne
		if n%4 < 2 {
			last, want = both, withBoth
		}
		a = start(t, s.a, config)
		a.post(last)
		difference := ""
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("after %d writes (-want +got):\n%s", at, difference)
			}
		})
		eventually(t, "the tables are those of an agent that nobody killed", func() bool {
			difference = cmp.Diff(strings.Split(want, "\n"), strings.Split(s.tables(), "\n"))
			return holds(s.a) && difference == ""
		})
		s.awaitAnswers()
		a.end(syscall.SIGKILL)
	}
	t.Logf("killed after these numbers of writes: %v", points)
	if len(points) < most/3 {
		t.Errorf("only %d different moments: %v", len(points), points)
	}
}

// dispatching matches the chains for a number of backends. A chain that isn't needed any more stays, so the test leaves
// them out.
var dispatching = regexp.MustCompile(`(?s)\n\tchain n\d+ \{.*?\n\t\}\n`)

func (s *segment) tables() string { return dispatching.ReplaceAllString(maybeListed(s.a), "") }

// only is news in which the mux has one backend, of each family.
func only(last string) *newsText {
	n := news("a")
	n.Slices = []*discoveryv1.EndpointSlice{sliceOf(discoveryv1.AddressTypeIPv4, []string{"10.9.2." + last}),
		sliceOf(discoveryv1.AddressTypeIPv6, []string{"fd09:2::" + last})}
	return n
}

// forget takes everything away that an agent left: kernel and disk.
func (s *segment) forget(state string) {
	s.t.Helper()
	s.a.Run("nft", "flush", "ruleset")
	s.a.Run("sh", "-c", "ip address flush dev front to 10.9.1.100/32; ip -6 address del fd09:1::100/128 dev front; true")
	if err := os.RemoveAll(state); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Mkdir(state, 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// killedAt runs an agent that ends as one of its threads begins its nth write, and returns how many writes were made in
// all.
func (s *segment) killedAt(c childConfig, n int, news ...*newsText) int {
	s.t.Helper()
	log := filepath.Join(s.t.TempDir(), "writes")
	k := start(s.t, s.a, c, "strace", "--follow-forks", "--output="+log, "--trace="+writes,
		"--inject="+writes+":signal=KILL:when="+strconv.Itoa(n))
	for i := 0; ; i++ {
		_ = k.news.Encode(news[i%len(news)]) // the agent may be dead
		select {
		case <-k.ended:
			text, err := os.ReadFile(log)
			if err != nil {
				s.t.Fatal(err)
			}
			return strings.Count(string(text), ") = ")
		case <-time.After(300 * time.Millisecond):
		}
	}
}
