package imagine

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Cluster is a copy of a cluster. Objects of the original aren't changed: a write replaces the object.
type Cluster struct {
	*look.World
	now time.Time
}

// Of returns a copy of what was read.
func Of(w *look.World, now time.Time) *Cluster {
	copied := *w
	copied.Services, copied.ConfigMaps = maps.Clone(w.Services), maps.Clone(w.ConfigMaps)
	return &Cluster{&copied, now}
}

// At returns a copy of the cluster, at a later time.
func (c *Cluster) At(now time.Time) *Cluster { return Of(c.World, now) }

// Now returns the time in the copy.
func (c *Cluster) Now() time.Time { return c.now }

// State is a mux at rest: no write is left. Settled is false if there still are some after many passes.
type State struct {
	*sight.Sight
	Settled bool
}

// The bounds of passes over a mux, and of live reads within a pass.
const (
	mostPasses = 20
	mostReads  = 4
)

// Rest carries out the plans of a mux until nothing is left to write. A number that changes its owner takes two passes.
func (c *Cluster) Rest(mux types.NamespacedName) (State, error) {
	var seen *sight.Sight
	for range mostPasses {
		var err error
		if seen, err = c.decide(mux); err != nil {
			return State{}, err
		}
		if len(seen.Plan.Confirm) > 0 || seen.Plan.Empty() {
			return State{seen, len(seen.Plan.Confirm) == 0}, nil
		}
		if err := c.carryOut(mux, seen); err != nil {
			return State{}, err
		}
	}
	return State{seen, false}, nil
}

// decide returns the sight of a mux with the plan of a pass, in which live reads confirm what the copy says.
func (c *Cluster) decide(mux types.NamespacedName) (*sight.Sight, error) {
	seen, err := c.Index().Sight(mux, c.now)
	if err != nil {
		return nil, err
	}
	world := &seen.World
	world.Live, world.Confirmed = map[types.NamespacedName]plan.Liveness{}, map[types.NamespacedName]bool{}
	seen.Plan = plan.Mux(*world, plan.Memory{}) // without what conditions say: these tell of the past
	for range mostReads {
		if len(seen.Plan.Confirm) == 0 {
			break
		}
		for _, key := range seen.Plan.Confirm {
			world.Confirmed[key], world.Live[key] = true, c.liveness(key)
		}
		seen.Plan = plan.Mux(*world, plan.Memory{})
	}
	return seen, nil
}

// liveness answers for a live read. A Service that couldn't be read is taken to be there: absence would release its numbers.
func (c *Cluster) liveness(key types.NamespacedName) plan.Liveness {
	unread := c.Unread.Services != "" && key.Namespace != c.Unread.ServicesIn || c.Unread.Muxes[key] != ""
	if c.Services[key] == nil && unread {
		return plan.Present
	}
	return plan.Gone
}
