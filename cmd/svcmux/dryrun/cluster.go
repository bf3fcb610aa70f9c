package dryrun

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Cluster is a copy of a cluster. A write replaces an object in the copy, so the original and its objects don't change.
type Cluster struct {
	*look.World
	// Now is the time in the copy.
	Now time.Time
}

// Copy returns a copy of a cluster.
func Copy(w *look.World, now time.Time) *Cluster {
	copied := *w
	copied.Services, copied.ConfigMaps = maps.Clone(w.Services), maps.Clone(w.ConfigMaps)
	return &Cluster{&copied, now}
}

// Outcome is a mux after a reconcile. Settled is false if writes or live reads are left after the bounds below.
type Outcome struct {
	*sight.Sight
	Settled bool
}

// The bounds of passes over a mux, and of live reads within a pass. A number that changes its owner takes two passes.
const (
	maxPasses = 20
	maxReads  = 4
)

// Reconcile carries out the plans of a mux until no write is left.
func (c *Cluster) Reconcile(mux types.NamespacedName) (Outcome, error) {
	var seen *sight.Sight
	for range maxPasses {
		var err error
		if seen, err = c.decide(mux); err != nil {
			return Outcome{}, err
		}
		if len(seen.Plan.Confirm) > 0 || seen.Plan.Empty() {
			return Outcome{seen, len(seen.Plan.Confirm) == 0}, nil
		}
		if err := c.carryOut(seen); err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{seen, false}, nil
}

// decide returns the sight of a mux with the plan of a pass. The copy answers the live reads for which the plan asks.
func (c *Cluster) decide(mux types.NamespacedName) (*sight.Sight, error) {
	seen, err := c.Index().Sight(mux, c.Now)
	if err != nil {
		return nil, err
	}
	world := &seen.World
	world.Live, world.Confirmed = map[types.NamespacedName]plan.Liveness{}, map[types.NamespacedName]bool{}
	for range maxReads {
		// A Sight for onlookers trusts conditions more than its plan. The conditions are from before the manifests, so decide
		// again.
		seen.Plan = plan.Mux(*world, plan.Memory{})
		for _, key := range seen.Plan.Confirm {
			world.Confirmed[key], world.Live[key] = true, c.liveness(key)
		}
		if len(seen.Plan.Confirm) == 0 {
			break
		}
	}
	// listeners aren't Services
	seen.Plan.Show = slices.DeleteFunc(seen.Plan.Show, func(patch plan.ChannelPatch) bool {
		return !claimants.IsService(patch.Channel)
	})
	return seen, nil
}

// liveness answers a live read. A Service that couldn't be read counts as present: absence would release its numbers.
func (c *Cluster) liveness(key types.NamespacedName) plan.Liveness {
	unread := c.Unread.Services != "" && key.Namespace != c.Unread.ServicesIn || c.Unread.Muxes[key] != ""
	if c.Services[key] == nil && unread {
		return plan.Present
	}
	return plan.Gone
}
