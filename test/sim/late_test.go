package sim

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/test/sim/api"
	"nowake.ai/svc-lb-mux/validation"
)

// TestLateWriteOfAFormerLeader plays a history that random ones hardly ever meet. A channel is enabled again, so the
// leader puts its port back on the mux. The write is on its way, while another process takes the lead, and sees that
// the channel is gone. Then the write arrives.
func TestLateWriteOfAFormerLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
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
		if claims, _, _ := s.promises.claims(mux); slices.ContainsFunc(claims,
			func(c plan.Claim) bool { return c.Owner.Channel == web }) {
			t.Fatalf("the second leader releases nothing:\n%s", strings.Join(s.story, "\n"))
		}
		s.happen(0, func() string { return s.deal(late) })
		s.untilQuiet(t, nil)
	})
}

// TestFirstLedgerOfAStaleLeader plays another rare history. A process was cut off from news of Services when a channel
// got its number. Somebody restores the ledger of that time, and the process takes the lead. It knows of one more
// channel, which asks for any number. So it must not give the channel the number that it doesn't know to be taken.
func TestFirstLedgerOfAStaleLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		defer s.killAll()
		channel := func(name string) {
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}}
			svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(s.world.key("mux"))
			svc.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
			svc.Spec.Ports = []corev1.ServicePort{{Name: "x", Port: 80, Protocol: corev1.ProtocolTCP}}
			annotate(svc, s.world.key("external-ports"), "x:auto")
			s.happen(0, func() string { return "a channel: app/" + name + s.world.put(svc, false) })
		}
		channel("a")
		s.untilQuiet(t, nil)
		key := s.world.ledgers()[0]
		saved := s.server.Peek(api.ConfigMaps, key).(*corev1.ConfigMap).DeepCopy()
		channel("c")
		stale := s.newProcess(0)
		s.processes = s.processes[:1]
		channel("b") // gets its number before c does
		s.untilQuiet(t, nil)

		s.killAll()
		saved.UID = ""
		s.happen(0, func() string { return "somebody restores the ledger" + s.world.put(saved, false) })
		s.processes = append(s.processes, stale)
		stale.lead()
		s.playUntilQuiet(t, func() []choice { return nil }, func(c *call) bool {
			return c.Kind == api.Services && !c.reads()
		})
		live := slotsOf(s.world.service(ownMuxes()[0]))
		claims, _, _ := s.promises.claims(ownMuxes()[0])
		for i := range claims {
			if name := live[claims[i].Slot()]; name != "" && name != claims[i].MuxName {
				t.Errorf("%s\none owner: %s is on the mux as %s, and goes to %s", strings.Join(s.story, "\n"), claims[i].Slot(),
					name, claims[i].Owner)
			}
		}
	})
}

// newStory returns a simulation with a leader, in which the test decides what happens.
func newStory(t *testing.T) *Sim {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, muxNamespace)
	if err != nil {
		t.Fatal(err)
	}
	s := newSim(language, 1, nil, true)
	s.world.begin()
	s.newProcess(0).lead()
	return s
}

// untilQuiet lets everything go well until nothing is left to do, and checks each write. Requests for which held
// returns true stay on their way, and untilQuiet returns the first of them.
func (s *Sim) untilQuiet(t *testing.T, held func(*call) bool) (first *call) {
	t.Helper()
	return s.playUntilQuiet(t, s.deliveries, held)
}

// playUntilQuiet does the same, but informers get only the given news. Both end after a minute: the reconciler looks at
// a frozen mux again and again.
func (s *Sim) playUntilQuiet(t *testing.T, news func() []choice, held func(*call) bool) (first *call) {
	t.Helper()
	const limit = time.Minute
	began := time.Now()
	for range 10_000 {
		synctest.Wait()
		if broken := s.check(); broken != "" {
			t.Fatalf("%s\n%s", strings.Join(s.story, "\n"), broken)
		}
		if time.Since(began) > limit {
			return first
		}
		ready := append(news(), s.work()...)
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
