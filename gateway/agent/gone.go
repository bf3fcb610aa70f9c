package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/gateway/agent/flows"
	"nowake.ai/svc-lb-mux/gateway/agent/want"
)

// dropFlows ends UDP flows to backends that the tables had before and don't have now.
func (a *Agent) dropFlows(had *want.Tables) {
	if a.DropFlows == nil || had == nil || a.applied == nil || had == a.applied {
		return
	}
	gone := goneBackends(had, a.applied)
	if len(gone) == 0 {
		return
	}
	dropped, err := a.DropFlows(gone)
	if err != nil {
		a.Log.Warnw("UDP flows to backends that are gone can't be ended", "error", err.Error())
	}
	if dropped > 0 {
		a.Log.Infow("Ended UDP flows to backends that are gone", "flows", dropped)
	}
}

// goneBackends returns the backends of UDP services that are missing now.
func goneBackends(had, has *want.Tables) []flows.Gone {
	var gone []flows.Gone
	for _, before := range had.Services {
		if before.Protocol != corev1.ProtocolUDP {
			continue
		}
		stays := slotsOf(has, unit{before.Address, before.Protocol, before.First})
		for _, b := range before.Slots {
			if !slices.ContainsFunc(stays, func(x want.Backend) bool { return x.Address == b.Address }) {
				gone = append(gone, flows.Gone{Address: before.Address, First: before.First, Last: before.Last, Backend: b.Address})
			}
		}
	}
	return gone
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
