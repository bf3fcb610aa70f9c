package console

import (
	"net/http"
	"sync"
	"time"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

// trafficAge is how old an answer about gateways may be: they count every 10 s, and each look reads all their Leases.
const trafficAge = 5 * time.Second

// gateways keeps the last answer about gateways.
type gateways struct {
	mu   sync.Mutex
	at   time.Time
	last []lease.Gateway
}

// traffic serves what the gateways counted.
func (s *server) traffic(w http.ResponseWriter, r *http.Request) {
	if s.Gateways == nil {
		http.Error(w, "this release has no gateways: --console-traffic reads their counts", http.StatusNotFound)
		return
	}
	if !s.ensureFresh(w, r) {
		return
	}
	found, err := s.freshGateways(r)
	if err != nil {
		s.internalError(w, err)
		return
	}
	keys, err := s.Line.Spoken(r.Context())
	if err != nil {
		s.internalError(w, err)
		return
	}
	answer := view.Traffic{Schema: view.Schema, Ports: []view.PortTraffic{}}
	for _, key := range keys {
		sight, err := s.Line.Look(r.Context(), key)
		if err != nil {
			s.internalError(w, err)
			return
		}
		answer.Ports = append(answer.Ports, view.TrafficOf(sight, found)...)
	}
	reply(w, answer)
}

func (s *server) freshGateways(r *http.Request) ([]lease.Gateway, error) {
	g := &s.gateways
	g.mu.Lock()
	defer g.mu.Unlock()
	now := s.Now()
	if age := now.Sub(g.at); age >= 0 && age < trafficAge {
		return g.last, nil
	}
	found, err := s.Gateways(r.Context())
	if err != nil {
		return nil, err
	}
	g.at, g.last = now, found
	return found, nil
}
