package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/gateway/agent/flows"
	"nowake.ai/svc-lb-mux/gateway/agent/want"
)

// mostGone is how many gone backends the agent remembers at most while their flows can't be ended.
const mostGone = 10_000

// dropFlows ends UDP flows to backends that the tables had before and don't have now. After a failure, the next pass tries again.
func (a *Agent) dropFlows(had *want.Tables) {
	if a.DropFlows == nil || a.applied == nil {
		return
	}
	var gone []flows.Gone
	if had != nil && had != a.applied {
		gone = goneBackends(had, a.applied)
	}
	a.gone = slices.DeleteFunc(slices.Concat(gone, a.gone), func(g flows.Gone) bool { return isBackend(g, a.applied) })
	a.gone = a.gone[:min(len(a.gone), mostGone)]
	if len(a.gone) == 0 {
		return
	}
	dropped, err := a.DropFlows(a.gone)
	if err == nil {
		a.gone = nil
	} else if len(gone) > 0 {
		a.Log.Warnw("UDP flows to backends that are gone can't be ended: each pass tries again", "error", err.Error())
	}
	if dropped > 0 {
		a.Log.Infow("Ended UDP flows to backends that are gone", "flows", dropped)
	}
}

// goneBackends returns the backends of UDP services that the former tables had and the present ones lack.
func goneBackends(had, has *want.Tables) []flows.Gone {
	var gone []flows.Gone
	for _, before := range had.Services {
		if before.Protocol != corev1.ProtocolUDP {
			continue
		}
		for _, b := range before.Slots {
			g := flows.Gone{Address: before.Address, First: before.First, Last: before.Last, Backend: b.Address, Port: b.Port}
			if !isBackend(g, has) {
				gone = append(gone, g)
			}
		}
	}
	return gone
}

// isBackend is true if the tables have the backend.
func isBackend(g flows.Gone, has *want.Tables) bool {
	return slices.Contains(slotsOf(has, unit{g.Address, corev1.ProtocolUDP, g.First}), want.Backend{Address: g.Backend, Port: g.Port})
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
