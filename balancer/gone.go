package balancer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/flows"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// mostGone is how many gone backends the agent remembers at most while their flows can't be ended.
const mostGone = 10_000

// dropFlows ends UDP flows to backends that the tables had before and don't have now. After a failure, the next pass
// tries again.
func (a *Agent) dropFlows(had *want.Tables) {
	if a.DropFlows == nil || a.applied == nil {
		return
	}
	var gone []flows.Gone
	if had != nil && had != a.applied {
		gone = goneBackends(had, a.applied)
	}
	present := newBackendSets(a.applied)
	a.gone = slices.DeleteFunc(slices.Concat(gone, a.gone), present.has)
	if len(a.gone) == 0 {
		return
	}
	dropped, err := a.DropFlows(a.gone)
	if err == nil {
		a.gone = nil
	} else if a.gone = a.gone[:min(len(a.gone), mostGone)]; len(gone) > 0 {
		a.Log.Warnw("UDP flows to backends that are gone can't be ended: each pass tries again", "error", err.Error())
	}
	if dropped > 0 {
		a.Log.Infow("Ended UDP flows to backends that are gone", "flows", dropped)
	}
}

// goneBackends returns the backends of UDP services that the former tables had and the present ones lack, each once.
func goneBackends(had, has *want.Tables) []flows.Gone {
	var gone []flows.Gone
	present := newBackendSets(has)
	for i := range had.Services {
		before := &had.Services[i]
		u := unit{before.Address, before.Protocol, before.First}
		if before.Protocol != corev1.ProtocolUDP || slices.Equal(before.Slots, slotsOf(has, u)) {
			continue
		}
		known := map[want.Backend]bool{}
		for _, b := range before.Slots {
			g := flows.Gone{Address: before.Address, First: before.First, Last: before.Last, Backend: b.Address, Port: b.Port}
			if !known[b] && !present.has(g) {
				gone = append(gone, g)
			}
			known[b] = true
		}
	}
	return gone
}

// backendSets are the backends of UDP services. It makes the set of a service when it is asked for a backend of that
// service: a service may have thousands.
type backendSets struct {
	tables *want.Tables
	sets   map[unit]map[want.Backend]bool
}

func newBackendSets(tables *want.Tables) *backendSets {
	return &backendSets{tables, map[unit]map[want.Backend]bool{}}
}

// has is true if the tables have the backend.
func (b *backendSets) has(g flows.Gone) bool {
	u := unit{g.Address, corev1.ProtocolUDP, g.First}
	set, made := b.sets[u]
	if !made {
		set = map[want.Backend]bool{}
		for _, slot := range slotsOf(b.tables, u) {
			set[slot] = true
		}
		b.sets[u] = set
	}
	return set[want.Backend{Address: g.Backend, Port: g.Port}]
}

// slotsOf returns the backends of a service. Services are sorted.
func slotsOf(tables *want.Tables, u unit) []want.Backend {
	at, found := slices.BinarySearchFunc(tables.Services, u, func(s want.Service, u unit) int {
		return compareUnits(unit{s.Address, s.Protocol, s.First}, u)
	})
	if !found {
		return nil
	}
	return tables.Services[at].Slots
}
