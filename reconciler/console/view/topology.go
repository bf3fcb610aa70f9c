package view

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Topology is where traffic goes: from addresses and public ports to backends.
type Topology struct {
	Schema string     `json:"schema"`
	Muxes  []Junction `json:"muxes"`
}

// Junction is a mux in it.
type Junction struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
	Tracks    []Track  `json:"ports"`
}

// Track is a public port that is on the mux.
type Track struct {
	Number   int32     `json:"number"`
	Protocol string    `json:"protocol"`
	Channel  string    `json:"channel"`
	Port     string    `json:"port"`
	Backends []Backend `json:"backends"`
}

// Backend is one endpoint behind it.
type Backend struct {
	Address string `json:"address"`
	Port    int32  `json:"port"`
	Ready   bool   `json:"ready"`
	Pod     string `json:"pod,omitempty"`
	Node    string `json:"node,omitempty"`
}

// JunctionOf is the topology of one mux.
func JunctionOf(s *Seen) Junction {
	junction := Junction{Namespace: s.World.Key.Namespace, Name: s.World.Key.Name, Addresses: []string{}, Tracks: []Track{}}
	if s.World.Mux == nil {
		return junction
	}
	junction.Addresses = addressesOf(s.World.Mux.Address)
	live := liveNames(s.World.Mux)
	for i := range s.Plan.InForce {
		claim := &s.Plan.InForce[i]
		if slot, there := live[claim.MuxName]; !there || slot != claim.Slot() {
			continue
		}
		junction.Tracks = append(junction.Tracks, Track{
			Number: claim.Public, Protocol: string(claim.Owner.Protocol), Channel: claim.Owner.Channel.String(),
			Port: claim.Owner.Name, Backends: backendsBehind(s, claim),
		})
	}
	return junction
}

func backendsBehind(s *Seen, claim *plan.Claim) []Backend {
	list := []Backend{}
	for _, slice := range s.Carried[claim.Owner.Channel] {
		for _, port := range slice.Ports {
			if port.Name == nil || *port.Name != claim.MuxName || port.Port == nil {
				continue
			}
			list = append(list, endpointsOf(slice, *port.Port)...)
		}
	}
	slices.SortFunc(list, func(a, b Backend) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	return slices.Compact(list)
}

func endpointsOf(slice *discoveryv1.EndpointSlice, port int32) []Backend {
	var list []Backend
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		backend := Backend{Port: port, Ready: isReady(e)}
		if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
			backend.Pod = types.NamespacedName{Namespace: e.TargetRef.Namespace, Name: e.TargetRef.Name}.String()
		}
		if e.NodeName != nil {
			backend.Node = *e.NodeName
		}
		for _, address := range e.Addresses {
			backend.Address = address
			list = append(list, backend)
		}
	}
	return list
}
