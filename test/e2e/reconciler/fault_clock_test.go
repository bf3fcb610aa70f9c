package reconciler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/long"
)

// clock is a clock that tests can set.
type clock struct{ off atomic.Int64 }

func (c *clock) now() time.Time            { return time.Now().Add(time.Duration(c.off.Load())) }
func (c *clock) jump(by time.Duration)     { c.off.Add(int64(by)) }
func (c *clock) use(p *reconciler.Process) { p.Now = c.now }

// TestClockJumps sets the reconciler's clock forward and back. The end of a grace is a time in the ledger.
func TestClockJumps(t *testing.T) {
	long.Only(t, "the clocks of test/sim jump, too")
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly(), cluster.Helm())}
	s.restrain(t)
	h := s.remember(t)
	c := &clock{}
	mux := s.mux(t, "mux", annotated("release-grace", "10m"))
	run := s.reconcile(t, c.use)
	s.awaitServed(t, s.channel(t, "jumps", "auto", mux), "http:80->20000")
	for i, by := range []time.Duration{time.Hour, -2 * time.Hour, 3 * time.Hour, -2 * time.Hour} {
		c.jump(by)
		channel := s.channel(t, "jumps", fmt.Sprintf("c%d", i), mux, port("tcp", int32(7000+i), "TCP"))
		s.awaitServed(t, channel, fmt.Sprintf("tcp:%d->%[1]d", 7000+i))
	}
	one := s.channel(t, "app", "one", mux)
	s.awaitServed(t, one, "http:80->20001")

	s.delete(t, one)
	s.awaitGrace(t, mux)
	s.awaitServed(t, s.channel(t, "app", "two", mux), "http:80->20002")
	c.jump(-time.Hour) // without correction the grace would last an hour longer
	s.awaitServed(t, s.channel(t, "app", "three", mux), "http:80->20003")
	if until, latest := s.awaitGrace(t, mux), c.now().Add(10*time.Minute); until.After(latest) {
		t.Errorf("the grace ends at %s, want at most %s", until, latest)
	}
	one = s.channel(t, "app", "one", mux)
	s.awaitServed(t, one, "http:80->20001")

	s.delete(t, one)
	s.awaitGrace(t, mux)
	c.jump(11 * time.Minute)
	s.awaitServed(t, s.channel(t, "app", "four", mux), "http:80->20001")

	s.delete(t, types.NamespacedName{Namespace: "app", Name: "four"})
	s.awaitGrace(t, mux)
	run.stop()
	c.jump(5 * time.Minute)
	run = s.reconcile(t, c.use)
	s.awaitServed(t, s.channel(t, "app", "five", mux), "http:80->20004")
	s.awaitGrace(t, mux)
	run.stop()
	c.jump(6 * time.Minute)
	s.reconcile(t, c.use)
	s.awaitServed(t, s.channel(t, "app", "six", mux), "http:80->20001")
	checkPromises(t, h.soFar(t))
}

// awaitGrace waits until 20001 is in grace, and returns its end.
func (s *scene) awaitGrace(t *testing.T, mux types.NamespacedName) time.Time {
	t.Helper()
	const number = "20001"
	var until time.Time
	cluster.Eventually(t, number+" is in grace", func(context.Context) error {
		claims := s.claims(t, mux)
		if !slices.ContainsFunc(claims, func(c string) bool {
			return strings.HasPrefix(c, number+"/") && strings.HasSuffix(c, " inGrace")
		}) {
			return fmt.Errorf("the ledger has %q", claims)
		}
		var file struct{ Released []struct{ Until time.Time } }
		if err := json.Unmarshal([]byte(s.configMap(t, ledgerOf(mux)).Data["allocations.json"]), &file); err != nil {
			return err
		}
		until = file.Released[0].Until
		return nil
	})
	return until
}
