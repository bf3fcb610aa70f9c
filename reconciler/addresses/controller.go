package addresses

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
	"nowake.ai/svc-lb-mux/reconciler/pace"
	"nowake.ai/svc-lb-mux/validation"
)

// Settings are those of a controller.
type Settings struct {
	Language validation.Language
	// Namespace is the one of the release: Leases and claims are there.
	Namespace string
	// MuxNamespaces are those of muxes; every namespace if empty.
	MuxNamespaces []string
	Pools         []config.Pool
	// RebuildAfter is how long after its first pass a controller waits before it rebuilds lost claims: for so long,
	// another controller may believe that it still leads.
	RebuildAfter time.Duration
	// Writes is how many statuses are written at a time.
	Writes int
	Now    func() time.Time
	// Metrics may be nil.
	Metrics *Metrics
}

// Controller makes passes. Its memory may be lost at any time: a new controller goes on where another one ended.
type Controller struct {
	Settings
	api       API
	addresses claims.Ranges // of all pools

	mu    sync.Mutex
	began time.Time // of the first pass
	// missing has the muxes that live lists lack, by pool, and since when each is missing.
	missing map[string]map[types.NamespacedName]time.Time
	// told are the alarms that were told and still hold, by pool.
	told      map[string]map[decide.Alarm]bool
	deleted   *deletions
	sightings *sightings
	pace      *pace.Pace[types.NamespacedName]
	// due is when the next pass is due although nothing changes. Only the worker uses it.
	due time.Time
}

// New makes a controller.
func New(settings Settings, api API) *Controller {
	return &Controller{
		Settings: settings, api: api, addresses: config.Addresses(settings.Pools),
		missing: map[string]map[types.NamespacedName]time.Time{}, told: map[string]map[decide.Alarm]bool{},
		deleted: newDeletions(), sightings: newSightings(), pace: pace.New[types.NamespacedName](),
	}
}

// Pass observes, decides and applies once. It returns when the next pass is due although nothing changes; zero if none
// is. After an error in one pool, Pass goes on with the other pools.
func (c *Controller) Pass(ctx context.Context) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	if c.began.IsZero() {
		c.began = now
	}
	seen, err := c.observe(ctx)
	if err != nil {
		return time.Time{}, err
	}
	due := deadline{}
	var errs []error
	for i := range c.Pools {
		again, err := c.passPool(ctx, seen, &c.Pools[i], now)
		due.add(again)
		errs = append(errs, err)
	}
	due.add(c.sightings.due(now))
	if now.Before(c.began.Add(c.RebuildAfter)) && seen.isLost() {
		due.add(c.began.Add(c.RebuildAfter))
	}
	names := make([]string, len(c.Pools))
	for i := range c.Pools {
		names[i] = c.Pools[i].Name
	}
	again, err := c.writeAll(ctx, decide.Strays(c.Language, names, seen.strays(names)), now)
	due.add(again)
	return due.at, errors.Join(append(errs, err)...)
}

// passPool decides about a pool and applies the decision.
func (c *Controller) passPool(ctx context.Context, seen *observation, p *config.Pool, now time.Time) (time.Time,
	error) {
	decision := decide.Decide(seen.world(c, p, now))
	if decision.NeedsLive {
		if err := c.observeLive(ctx, seen); err != nil {
			return time.Time{}, err
		}
		decision = decide.Decide(seen.world(c, p, now))
	}
	c.missing[p.Name] = decision.Missing
	c.Metrics.decided(p.Name, decision.Figures)
	c.tellAlarms(p.Name, decision.Alarms)
	again, err := c.apply(ctx, seen, p, &decision, now)
	due := deadline{again}
	due.add(decision.Again)
	return due.at, err
}

// tellAlarms tells each alarm once while it holds.
func (c *Controller) tellAlarms(pool string, alarms []decide.Alarm) {
	holds := map[decide.Alarm]bool{}
	for _, alarm := range alarms {
		holds[alarm] = true
		if !c.told[pool][alarm] {
			c.api.Warn(pool, alarm)
		}
	}
	c.told[pool] = holds
}

// deadline is the earliest of some times; zero times don't count.
type deadline struct{ at time.Time }

func (d *deadline) add(at time.Time) {
	if !at.IsZero() && (d.at.IsZero() || at.Before(d.at)) {
		d.at = at
	}
}
