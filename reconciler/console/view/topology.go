package view

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Topology lists the paths of traffic: from addresses and public ports to backends.
type Topology struct {
	Schema string        `json:"schema"`
	Muxes  []MuxTopology `json:"muxes"`
}

// MuxTopology is the topology of one mux.
type MuxTopology struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Addresses []string     `json:"addresses"`
	Ports     []PublicPort `json:"ports"`
}

// PublicPort is a port on the mux that belongs to a channel.
type PublicPort struct {
	Number   int32     `json:"number"`
	Last     int32     `json:"last,omitempty"` // the last number of a range
	Protocol string    `json:"protocol"`
	Channel  string    `json:"channel"`
	Port     string    `json:"port"`
	Backends []Backend `json:"backends"`
}

// Backend is an endpoint behind a public port.
type Backend struct {
	Address string `json:"address"`
	Port    int32  `json:"port"`
	Ready   bool   `json:"ready"`
	Pod     string `json:"pod,omitempty"`
	Node    string `json:"node,omitempty"`
	// Unreached names the gateways whose probes it doesn't answer, such as "node-a, node-b".
	Unreached string `json:"unreached,omitempty"`
}

// Span returns the numbers of the port.
func (p *PublicPort) Span() plan.Span {
	return plan.NewSpan(p.Number, p.Last, corev1.Protocol(p.Protocol))
}

// TopologyOf returns the topology of one mux.
func TopologyOf(s *sight.Sight) MuxTopology {
	topology := MuxTopology{Namespace: s.World.Key.Namespace, Name: s.World.Key.Name, Addresses: []string{},
		Ports: []PublicPort{}}
	if s.World.Mux == nil {
		return topology
	}
	topology.Addresses = addressesOf(s.World.Mux.Address)
	live := liveNames(s.World.Mux)
	for i := range s.Plan.InForce {
		claim := &s.Plan.InForce[i]
		if live[claim.MuxName] != claim.Span() {
			continue
		}
		topology.Ports = append(topology.Ports, PublicPort{
			Number: claim.Public, Last: claim.Last, Protocol: string(claim.Owner.Protocol),
			Channel: claim.Owner.Channel.String(),
			Port:    claim.Owner.Name, Backends: backendsBehind(s, claim),
		})
	}
	return topology
}

func backendsBehind(s *sight.Sight, claim *plan.Claim) []Backend {
	list, carried, name := []Backend{}, s.Carried[claim.Owner.Channel], claim.MuxName
	if s.Unread.Carried != "" { // the mux should have the same backends as the channel's own slices
		carried, name = s.Sources[claim.Owner.Channel], claim.Owner.Name
	}
	for _, slice := range carried {
		for _, port := range slice.Ports {
			if port.Name == nil || *port.Name != name || port.Port == nil {
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
