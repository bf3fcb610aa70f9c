package addresses

import (
	"sync"
	"time"

	"nowake.ai/svc-lb-mux/balancer/lease"
)

// sightings remember when each Lease was seen to be renewed, by this process's clock: the clocks of gateways may be
// wrong. A Lease that is seen for the first time counts as renewed if its own time says so.
type sightings struct {
	mu   sync.Mutex
	last map[string]sighting
}

type sighting struct {
	renewed  time.Time // as the Lease says
	seen     time.Time // by our clock; zero until a renewal was seen
	duration time.Duration
}

func newSightings() *sightings { return &sightings{last: map[string]sighting{}} }

// see records what a list shows. A Lease that isn't in the list is forgotten.
func (s *sightings) see(gateways []lease.Gateway, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make(map[string]sighting, len(gateways))
	for i := range gateways {
		next[gateways[i].Name] = s.sighting(&gateways[i], now)
	}
	s.last = next
}

func (s *sightings) sighting(g *lease.Gateway, now time.Time) sighting {
	before, known := s.last[g.Name]
	at := sighting{renewed: g.RenewedAt, seen: before.seen, duration: g.Duration}
	switch {
	case known && !before.renewed.Equal(g.RenewedAt), !known && g.IsFresh(now):
		at.seen = now
	case at.seen.After(now): // the clock was set back
		at.seen = now
	}
	return at
}

// renewed records one Lease as the informer shows it. It returns true if the gateway wasn't live before.
func (s *sightings) renewed(g *lease.Gateway, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasLive := s.last[g.Name].isLive(now)
	s.last[g.Name] = s.sighting(g, now)
	return !wasLive
}

// isLive is true if the Lease was renewed in time.
func (s *sightings) isLive(gateway string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[gateway].isLive(now)
}

func (s sighting) isLive(now time.Time) bool {
	return !s.seen.IsZero() && now.Before(s.seen.Add(s.duration))
}

// due returns when the next gateway becomes stale, unless it renews its Lease.
func (s *sightings) due(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due deadline
	for _, at := range s.last {
		if at.isLive(now) {
			due.add(at.seen.Add(at.duration))
		}
	}
	return due.at
}
