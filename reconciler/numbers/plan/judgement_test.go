package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// TestPredictedVerdictsAgreeWithMux compares the verdicts of Judge and of Mux in every world: Judge leaves out the
// parts of a decision that verdicts don't need.
func TestPredictedVerdictsAgreeWithMux(t *testing.T) {
	compared := 0
	for _, told := range worlds(t) {
		c := newCluster(t)
		for _, stage := range readStory(t, told.Input()).stages {
			for _, doc := range stage.docs {
				c.enact(t, doc)
			}
			for range 4 {
				world := c.world()
				decided := plan.Mux(world, plan.Memory{})
				if diff := cmp.Diff(decided.Verdicts, plan.PredictedVerdicts(c.world())); diff != "" {
					t.Fatalf("%s, %s (-decided +predicted):\n%s", told.Name(), stage.title, diff)
				}
				compared += len(decided.Verdicts)
				if _, final := c.decide(); c.apply(final) != nil {
					break
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("%d verdicts were compared, want at least 500", compared)
	}
}
