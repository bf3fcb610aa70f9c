package addresses

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

// observation is what a pass read. Claims are read first and live: so a live list of muxes is never older than the
// claims. A write of a pool's claims replaces them here, so that the next pool sees the new ones.
type observation struct {
	stored   map[string]*stored // by pool
	muxes    []decide.Mux
	gateways []lease.Gateway
	isLive   bool
}

// stored is a pool's ConfigMap as it was read.
type stored struct {
	object *corev1.ConfigMap // nil if there is none
	decide.Stored
}

func (c *Controller) observe(ctx context.Context) (*observation, error) {
	names := make([]string, len(c.Pools))
	seen := &observation{stored: map[string]*stored{}}
	for i := range c.Pools {
		names[i] = c.Pools[i].Name
		seen.stored[names[i]] = &stored{}
	}
	list, err := c.api.Claims(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("read the claims: %w", err)
	}
	for i := range list {
		pool, is := strings.CutPrefix(list[i].Name, claims.NamePrefix)
		if !is {
			continue
		}
		read := &stored{object: &list[i]}
		read.Version = lease.Version{UID: list[i].UID, ResourceVersion: list[i].ResourceVersion}
		known, err := claims.Decode(&list[i], pool)
		if err != nil {
			read.Problem = err.Error()
		} else {
			read.Stored.Claims = &known
		}
		seen.stored[pool] = read
	}
	return seen, c.list(ctx, seen, false)
}

// observeLive replaces the lists by live ones, once in a pass.
func (c *Controller) observeLive(ctx context.Context, seen *observation) error {
	if seen.isLive {
		return nil
	}
	return c.list(ctx, seen, true)
}

func (c *Controller) list(ctx context.Context, seen *observation, live bool) error {
	services, err := c.api.Services(ctx, live)
	if err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	leases, err := c.api.Leases(ctx, live)
	if err != nil {
		return fmt.Errorf("list Leases: %w", err)
	}
	seen.isLive, seen.muxes, seen.gateways = live, nil, nil
	for _, svc := range services {
		if m, is := decide.Parse(c.Language, svc); is {
			seen.muxes = append(seen.muxes, m)
		}
	}
	for _, l := range leases {
		if g, is := lease.Read(l, c.Language.Keys()); is {
			seen.gateways = append(seen.gateways, g)
		}
	}
	slices.SortFunc(seen.gateways, func(a, b lease.Gateway) int { return cmp.Compare(a.Name, b.Name) })
	c.sightings.see(seen.gateways, c.Now())
	return nil
}

// world collects the facts about one pool.
func (seen *observation) world(c *Controller, p *config.Pool, now time.Time) *decide.World {
	w := &decide.World{
		Pool: *p, Stored: seen.stored[p.Name].Stored, IsLive: seen.isLive, Namespaces: c.MuxNamespaces,
		Missing: c.missing[p.Name], Deleted: c.deleted.recent(now),
		Now: now, Pools: c.addresses,
	}
	w.Stored.MayRebuild = !now.Before(c.began.Add(c.RebuildAfter))
	for i := range seen.muxes {
		if m := seen.muxes[i]; m.IsMux && m.Pool == p.Name {
			w.Muxes = append(w.Muxes, m)
		} else {
			w.Others = append(w.Others, m)
		}
	}
	for i := range seen.gateways {
		if seen.gateways[i].Pool == p.Name {
			w.Gateways = append(w.Gateways,
				decide.Gateway{Gateway: seen.gateways[i], IsLive: c.sightings.isLive(seen.gateways[i].Name, now)})
		}
	}
	for pool, other := range seen.stored {
		if pool == p.Name || other.Stored.Claims == nil {
			continue
		}
		for i := range other.Stored.Claims.Muxes {
			m := &other.Stored.Claims.Muxes[i]
			for _, a := range m.Addresses {
				w.Elsewhere = append(w.Elsewhere,
					decide.Reserved{Address: a, Holder: fmt.Sprintf("mux %s of pool %s", m.Key, pool)})
			}
		}
	}
	slices.SortFunc(w.Elsewhere, func(a, b decide.Reserved) int {
		return cmp.Or(a.Address.Compare(b.Address), strings.Compare(a.Holder, b.Holder))
	})
	return w
}

// strays returns the Services that belong to none of these pools.
func (seen *observation) strays(pools []string) []decide.Mux {
	var strays []decide.Mux
	for i := range seen.muxes {
		if m := seen.muxes[i]; !m.IsMux || !slices.Contains(pools, m.Pool) {
			strays = append(strays, m)
		}
	}
	return strays
}

// isLost is true if a pool has no ConfigMap.
func (seen *observation) isLost() bool {
	for _, s := range seen.stored {
		if s.object == nil {
			return true
		}
	}
	return false
}
