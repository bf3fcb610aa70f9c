package sim

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/validation"
)

// TestLateWriteOfAFormerLeader plays a history that random ones hardly ever meet. A channel is enabled again, so the leader puts its port back
// on the mux. The write is on its way, while another process takes the lead, and sees that the channel is gone. Then the write arrives.
func TestLateWriteOfAFormerLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		language, err := validation.New(validation.DefaultPrefix, muxNamespace)
		if err != nil {
			t.Fatal(err)
		}
		s := newSim(language, 1, nil, true)
		defer s.killAll()
		web, mux := types.NamespacedName{Namespace: "app", Name: "a"}, ownMuxes()[0]
		isMuxWrite := func(c *call) bool {
			return c.Verb == "patch" && c.Kind == api.Services && c.Object.GetName() == mux.Name && !c.DryRun
		}
		disable := func(value string) {
			svc := s.world.service(web)
			annotate(svc, s.world.key("disabled"), value)
			s.happen(0, func() string { return web.String() + ": disabled is " + value + s.world.put(svc, false) })
		}
		s.world.begin()
		s.newProcess(0).lead()
		s.happen(0, func() string { return s.world.createChannel(web) })
		s.untilQuiet(t, nil)
		disable("true")
		s.untilQuiet(t, nil)
		disable("")
		late := s.untilQuiet(t, isMuxWrite)
		if late == nil {
			t.Fatalf("the mux isn't written after its channel is enabled again:\n%s", strings.Join(s.story, "\n"))
		}

		s.happen(0, func() string {
			s.world.drop(api.Services, web)
			return web.String() + " is deleted"
		})
		s.newProcess(0).lead()
		s.untilQuiet(t, func(c *call) bool { return c.from == late.from })
		if claims, _, _ := s.promises.claims(mux); slices.ContainsFunc(claims, func(c plan.Claim) bool { return c.Owner.Channel == web }) {
			t.Fatalf("the second leader releases nothing:\n%s", strings.Join(s.story, "\n"))
		}
		s.happen(0, func() string { return s.deal(late) })
		s.untilQuiet(t, nil)
	})
}

// untilQuiet lets everything go well until nothing is left to do, and checks each write. Requests that are held stay on their way: it returns
// the first of them.
func (s *Sim) untilQuiet(t *testing.T, held func(*call) bool) (first *call) {
	t.Helper()
	for range 10_000 {
		synctest.Wait()
		if broken := s.check(); broken != "" {
			t.Fatalf("%s\n%s", strings.Join(s.story, "\n"), broken)
		}
		ready := append(s.deliveries(), s.work()...)
		for _, c := range s.underway(false) {
			if held == nil || !held(c) {
				ready = append(ready, choice{do: func() string { return s.deal(c) }})
			} else if first == nil {
				first = c
			}
		}
		if len(ready) > 0 {
			s.happen(0, ready[0].do)
			continue
		}
		next := s.nextDue()
		if next.IsZero() {
			return first
		}
		time.Sleep(time.Until(next))
	}
	t.Fatalf("no rest:\n%s", strings.Join(s.story, "\n"))
	return nil
}
