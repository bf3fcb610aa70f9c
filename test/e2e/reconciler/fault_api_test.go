package reconciler

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
	"nowake.ai/svc-lb-mux/test/long"
)

// TestAnAPIServerThatFails runs bursts of changes while requests and watches fail in every way. Each burst must reach
// its end without breaking a promise.
func TestAnAPIServerThatFails(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly(), cluster.Helm())}
	s.restrain(t)
	s.proxy = s.through(t)
	h := s.remember(t)
	s.reconcile(t, func(p *reconciler.Process) {
		p.Config = s.proxy.Config()
		p.Options.LeaseDuration, p.Options.RenewDeadline = time.Hour, 59*time.Minute // longer than the outages
	})
	for code, answer := range map[int]func(int, ...faults.Edit) faults.Action{http.StatusConflict: faults.Answer,
		http.StatusTooManyRequests: faults.Answer, http.StatusInternalServerError: faults.AnswerAfter} {
		t.Run(fmt.Sprintf("every kind of write is answered %d", code), func(t *testing.T) {
			s.failWrites(t, fmt.Sprintf("w%d", code), answer(code, faults.RetryAfter(0)))
		})
	}
	t.Run("every kind of write is made and its answer lost", func(t *testing.T) {
		s.failWrites(t, "lost", faults.DropAfter())
	})
	t.Run("a temporary error doesn't count as a channel's refusal", func(t *testing.T) { s.passesByItself(t) })
	for _, resource := range []string{"services", "configmaps", "endpointslices"} {
		watched := faults.Match{Resource: resource}
		t.Run("the watch of "+resource+" expires", func(t *testing.T) {
			s.disturb(t, "expired-"+resource, func() {
				again := s.proxy.Add(faults.Rule{
					Match: faults.Match{Verbs: []string{"watch"}, Resource: resource}, Times: 1, Do: faults.Answer(http.StatusGone),
				})
				if s.proxy.ExpireWatches(watched) == 0 {
					t.Error("no watch was open")
				}
				if err := again.Wait(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("watch events of ledgers are held back", func(t *testing.T) {
		hold := s.proxy.HoldWatches(faults.Match{Resource: "configmaps"})
		defer hold.Release()
		s.disturb(t, "deaf", func() {})
	})
	t.Run("the API server is unreachable for a while", func(t *testing.T) {
		s.disturb(t, "away", func() {
			away := s.proxy.Add(faults.Rule{Do: faults.Drop()})
			s.proxy.Disconnect()
			time.Sleep(5 * time.Second) // duration of the outage
			away.Remove()
		})
	})
	checkPromises(t, h.soFar(t))
	outage := 5 * time.Second
	if long.Runs() {
		outage = 30 * time.Second
	}
	t.Run("the API server is killed and restarted", func(t *testing.T) {
		s.disturb(t, "killed", func() {
			server := s.Component("kube-apiserver")
			if err := server.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(outage) // duration of the outage
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			if err := s.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// disturb runs a burst with a mishap in the middle, between two writes.
func (s *scene) disturb(t *testing.T, id string, mishap func()) {
	t.Helper()
	b := s.burst(t, id)
	hold := s.proxy.HoldWatches(faults.Match{Resource: "services"})
	changes := b.begin(t)
	if err := hold.Wait(t.Context(), changes/2); err != nil {
		t.Fatal(err)
	}
	middle := s.proxy.Add(faults.Rule{Match: faults.Match{Func: counted}, Skip: 5, Times: 1})
	hold.Release()
	if err := middle.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	middle.Remove()
	mishap()
	b.awaitEnd(t)
	b.clean(t)
}

// failWrites runs a burst in which some writes of each kind fail.
func (s *scene) failWrites(t *testing.T, id string, how faults.Action) {
	t.Helper()
	rules := map[string]*faults.Handle{}
	for _, kind := range []struct{ verb, resource string }{
		{"create", "configmaps"},
		{"patch", "configmaps"},
		{"patch", "services"},
		{"patch", "services/status"},
		{"create", "endpointslices"},
		{"patch", "endpointslices"},
		{"delete", "endpointslices"},
		{"create", "events"},
		{"update", "leases"},
	} {
		rules[kind.verb+" "+kind.resource] = s.proxy.Add(faults.Rule{
			Match: faults.Match{Verbs: []string{kind.verb}, Resource: kind.resource}, Times: 2, Do: how,
		})
	}
	s.disturb(t, id, func() {})
	for kind, rule := range rules {
		if rule.Hits() == 0 {
			t.Errorf("no request was a %s", kind)
		}
		rule.Remove()
	}
}
