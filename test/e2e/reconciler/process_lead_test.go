package reconciler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
	"nowake.ai/svc-lb-mux/test/product"
)

// TestLeaders runs two reconcilers, one of them on standby.
func TestLeaders(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly())}
	h := s.remember(t)
	mux := s.mux(t, "mux")
	t.Run("a leader that is stopped hands over at once", func(t *testing.T) {
		// The lease lasts longer than the test, so it can change hands only if it is released.
		long := func(p *reconciler.Process) {
			p.Options.LeaseDuration, p.Options.RenewDeadline = time.Hour, 59*time.Minute
		}
		first, _ := s.candidate(t, long)
		first.awaitLeads(t, true)
		second, proxy := s.candidate(t, long)
		second.awaitLeads(t, false)
		s.awaitServed(t, s.channel(t, "told", "one", mux), "http:80->20000")
		s.wroteNothingYet(t, proxy)

		first.stop()
		second.awaitLeads(t, true)
		s.awaitServed(t, s.channel(t, "told", "two", mux), "http:80->20001")
		second.stop()
		if holder := s.leaseHolder(t); holder != "" {
			t.Errorf("the lease is still held by %s", holder)
		}
	})
	short := func(p *reconciler.Process) {
		p.Options.LeaseDuration, p.Options.RenewDeadline = 4*time.Second, 3*time.Second
	}
	t.Run("a killed leader is replaced within its lease duration", func(t *testing.T) {
		first, dead := s.candidate(t, short)
		first.awaitLeads(t, true)
		second, proxy := s.candidate(t, short)
		second.awaitLeads(t, false)
		s.awaitServed(t, s.channel(t, "killed", "one", mux), "http:80->20002")
		s.wroteNothingYet(t, proxy)

		// A killed process neither sends nor receives anything.
		first.mayFail.Store(true)
		dead.Add(faults.Rule{Do: faults.Drop()})
		dead.Disconnect()
		second.awaitLeads(t, true)
		s.awaitServed(t, s.channel(t, "killed", "two", mux), "http:80->20003")
		first.stop()
	})
	t.Run("a process that lost its lease is on standby, writes nothing, and leads again", func(t *testing.T) {
		first, proxy := s.candidate(t, short)
		first.awaitLeads(t, true)
		second, _ := s.candidate(t, short)
		second.awaitLeads(t, false)
		cut := proxy.Add(faults.Rule{Match: faults.Match{Resource: "leases"}, Do: faults.Drop()})
		second.awaitLeads(t, true)
		first.awaitLeads(t, false)

		lost := proxy.Snapshot()
		s.awaitServed(t, s.channel(t, "lost", "one", mux), "http:80->20004")
		if writes := proxy.Snapshot().Sub(lost).Where(writesOfWork); writes.Total() > 0 {
			t.Errorf("the process that lost its lease wrote:\n%s", writes)
		}
		cut.Remove()
		second.stop()
		first.awaitLeads(t, true)
		s.awaitServed(t, s.channel(t, "lost", "two", mux), "http:80->20005")
		first.stop()
	})
	t.Run("the program hands over at SIGTERM, and is replaced after SIGKILL", func(t *testing.T) {
		program := product.BuildForTest(t, "reconciler")
		told := s.program(t, program, "told", "--lease-duration=1h", "--renew-deadline=59m")
		s.awaitServed(t, s.channel(t, "program", "one", mux), "http:80->20006")
		second, _ := s.candidate(t)
		second.awaitLeads(t, false)
		if err := told.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		second.awaitLeads(t, true)
		if log := told.Log(50); !strings.Contains(log, "ended in order") {
			t.Errorf("the program ended without a handover:\n%s", log)
		}
		second.stop()

		killed := s.program(t, program, "killed", "--lease-duration=4s", "--renew-deadline=3s")
		s.awaitServed(t, s.channel(t, "program", "two", mux), "http:80->20007")
		third, _ := s.candidate(t, short)
		third.awaitLeads(t, false)
		if err := killed.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		third.awaitLeads(t, true)
	})
	checkPromises(t, h.soFar(t))
}

// candidate returns a reconciler that waits for the lease, and its proxy.
func (s *scene) candidate(t *testing.T, edits ...func(*reconciler.Process)) (*running, *faults.Proxy) {
	t.Helper()
	proxy := s.through(t)
	return s.reconcile(t, append(edits, func(p *reconciler.Process) { p.Config = proxy.Config() })...), proxy
}

// program runs the program beside the control plane, under a name.
func (w *world) program(t *testing.T, program, name string, flags ...string) *cluster.Component {
	t.Helper()
	component, err := w.Add(name, program, append(flags, "--retry-period=500ms", "--namespace="+muxNamespace,
		"--probe-address=127.0.0.1:0")...)
	if err != nil {
		t.Fatal(err)
	}
	return component
}

// writesOfWork leaves out the lease, and Events, which are sent some time later.
func writesOfWork(key faults.Key) bool {
	return key.IsWrite() && key.Resource != "leases.coordination.k8s.io" && key.Resource != "events"
}

// wroteNothingYet checks that a standby wrote nothing, except for its tries to get the lease.
func (s *scene) wroteNothingYet(t *testing.T, proxy *faults.Proxy) {
	t.Helper()
	for _, entry := range proxy.Log() {
		if entry.IsWrite() && !faults.Leases(entry.Request) {
			t.Errorf("the standby sent %s", entry)
		}
	}
}

func (s *scene) leaseHolder(t *testing.T) string {
	t.Helper()
	lease, err := s.user.CoordinationV1().Leases(muxNamespace).Get(t.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// awaitLeads reads /leaderz. A standby must be healthy and ready, too.
func (r *running) awaitLeads(t *testing.T, leads bool) {
	t.Helper()
	want := map[bool]string{true: "200 leads\n", false: "503 waits to lead\n"}[leads]
	r.awaitAnswer(t, "/readyz", "200 ok\n")
	r.awaitAnswer(t, "/leaderz", want)
	r.awaitAnswer(t, "/healthz", "200 ok\n")
}

func (r *running) awaitAnswer(t *testing.T, path, want string) {
	t.Helper()
	cluster.Eventually(t, path+" says "+want, func(ctx context.Context) error {
		got, err := r.ask(ctx, path)
		if err == nil && got != want {
			err = fmt.Errorf("%q", got)
		}
		return err
	})
}

// ask returns the status and body of a path of the probe server.
func (r *running) ask(ctx context.Context, path string) (string, error) {
	address, err := r.probeAddress()
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, body), err
}

// probeAddress returns the address that the log shows.
func (r *running) probeAddress() (string, error) {
	for line := range strings.Lines(r.log.String()) {
		var entry struct{ ProbeAddress string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.ProbeAddress != "" {
			return entry.ProbeAddress, nil
		}
	}
	return "", errors.New("the log doesn't show the probe address yet")
}
