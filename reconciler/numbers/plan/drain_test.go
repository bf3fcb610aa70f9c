package plan_test

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// TestDrainRemovesAllAndKeepsNumbers drains every world after its last stage, and reconciles it again. After the drain,
// channels and mux have nothing of ours. After the reconcile, every channel has its numbers again.
func TestDrainRemovesAllAndKeepsNumbers(t *testing.T) {
	drains := 0
	for _, world := range worlds(t) {
		t.Run(world.Name(), func(t *testing.T) {
			c := newCluster(t)
			readStory(t, world.Input()).tell(t, c)
			if c.isFrozen() || len(c.stuck) > 0 || len(c.refused) > 0 || len(c.hidden) > 0 || len(c.live) > 0 {
				return // other tests cover these
			}
			drains++
			had := c.heldNumbers()
			c.drain(t)
			c.checkGone(t)
			c.lastGood = nil
			if err := c.settle(func(_ []types.NamespacedName, _ *plan.Plan) {}); err != nil {
				t.Fatal(err)
			}
			if now := c.heldNumbers(); !slices.Equal(now, had) {
				t.Errorf("held %q before the drain, and %q after it", had, now)
			}
		})
	}
	if drains < 60 {
		t.Errorf("%d worlds were drained, want at least 60", drains)
	}
}

func (c *cluster) isFrozen() bool {
	return c.isMux() && plan.Mux(c.world(), c.memory()).Freeze != nil
}

// heldNumbers returns the held claims of the ledger, such as "20000/TCP app/web http".
func (c *cluster) heldNumbers() []string {
	if c.ledger == nil {
		return nil
	}
	var held []string
	for i := range c.ledger.Claims {
		if claim := &c.ledger.Claims[i]; claim.State == plan.Held {
			held = append(held, fmt.Sprintf("%s %s %s", claim.Slot(), claim.Owner.Channel, claim.Owner.Name))
		}
	}
	return held
}

// drain drains until nothing is left to do.
func (c *cluster) drain(t *testing.T) {
	t.Helper()
	for range 3 {
		p := plan.Drain(c.world(), c.memory())
		if p.Empty() {
			return
		}
		for _, step := range c.steps(p) {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v\n%s", step.what, err, printed(p))
			}
		}
	}
	t.Errorf("the drain doesn't end:\n%s", printed(plan.Drain(c.world(), c.memory())))
}

func (c *cluster) checkGone(t *testing.T) {
	t.Helper()
	keys := c.language.Keys()
	for _, key := range c.channels() {
		svc := c.services[key]
		ours := slices.ContainsFunc(svc.Status.Conditions, func(is metav1.Condition) bool {
			return slices.Contains(keys.Conditions(), is.Type)
		})
		if len(svc.Status.LoadBalancer.Ingress) > 0 || ours || svc.Annotations[keys.Ports] != "" {
			t.Errorf("%s still has %v and %q", key, svc.Status, svc.Annotations[keys.Ports])
		}
	}
	if !c.isMux() || c.mux().DeletionTimestamp != nil {
		return // a mux that is being deleted isn't written
	}
	names := map[string]bool{}
	if c.ledger != nil {
		for i := range c.ledger.Claims {
			names[c.ledger.Claims[i].MuxName] = true
		}
	}
	for i := range c.mux().Spec.Ports {
		if port := &c.mux().Spec.Ports[i]; names[port.Name] {
			t.Errorf("the mux still has %s (%d)", port.Name, port.Port)
		}
	}
	for _, key := range []string{keys.Generation, keys.Ledger, keys.Channels, keys.Topology, keys.Summary,
		keys.AggregatedExternalDNS} {
		if value := c.mux().Annotations[key]; value != "" {
			t.Errorf("the mux still has %s: %q", key, value)
		}
	}
}

func TestDrainKeepsThePortsOfAChannelThatShowsTheAddress(t *testing.T) {
	c := newCluster(t)
	s := readStory(t, golden.Read(t, "testdata/worlds/an-address-that-cannot-be-taken-off-keeps-its-port.txtar").Input())
	s.stages = s.stages[:1]
	s.tell(t, c)
	web := types.NamespacedName{Namespace: "app", Name: "web"}
	w := c.world()
	p := plan.Drain(w, plan.Memory{Stuck: map[types.NamespacedName]bool{web: true}})
	if p.Again.IsZero() || len(p.Hide) > 0 || len(p.Leaving) > 0 {
		t.Errorf("the plan seems done, or removes the channel:\n%s", printed(p))
	}
	if p.Publish != nil && (p.Publish.Ports != nil || hasKey(p.Publish.Annotations, w.Keys.Generation)) {
		t.Errorf("the plan removes its port, or the mux's stamp:\n%s", printed(p))
	}
	if p = plan.Drain(c.world(), c.memory()); p.Publish == nil || p.Publish.Ports == nil || len(p.Leaving) != 1 {
		t.Errorf("once its status can be written, its port stays:\n%s", printed(p))
	}
}

func hasKey(annotations map[string]string, key string) bool {
	_, has := annotations[key]
	return has
}
