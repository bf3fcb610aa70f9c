package project

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// Limits of a mux on gateways: each endpoint of each port is an element in the kernels of all gateways, and the
// channels of a mux share these kernels.
const (
	// MaxEndpoints is how many endpoints of an address family a port may have.
	MaxEndpoints = 1024
	// FreeEndpoints is how many endpoints of a family each port may have, whatever other channels have. Endpoints beyond
	// them are shared: they count once for each port.
	FreeEndpoints = 3
	// MaxShared is how many shared endpoints all channels of a mux may have, and MaxSharedOfNamespace how many those of
	// one namespace may have: so one namespace takes nothing from the others.
	MaxShared            = 1 << 14
	MaxSharedOfNamespace = MaxShared / 4
)

// Excess says that a channel has more endpoints than its ports on a mux may have.
type Excess struct {
	Family discoveryv1.AddressType
	// Has and Used count endpoints, and Ports the channel's ports.
	Has, Used, Ports int
}

// Message tells the channel's owner.
func (e *Excess) Message(namespace string) string {
	if e.Used == MaxEndpoints {
		return fmt.Sprintf("%d of %d %s endpoints are used: a port on gateways may have %d: use fewer and larger pods, or "+
			"a second channel", e.Used, e.Has, e.Family, MaxEndpoints)
	}
	return fmt.Sprintf("%d of %d %s endpoints are used for each of %d ports: beyond %d endpoints for each port, the "+
		"channels of namespace %s may have %d together on the mux, and all channels %d: use fewer ports or pods, or "+
		"another mux", e.Used, e.Has, e.Family, e.Ports, FreeEndpoints, namespace, MaxSharedOfNamespace, MaxShared)
}

// demand is what a channel's slices of one family need of a mux.
type demand struct{ endpoints, ports int }

// shared is how many shared endpoints the slices have if a port has at most so many.
func (d demand) shared(most int) int { return d.ports * max(0, min(d.endpoints, most)-FreeEndpoints) }

// Shared returns how many shared endpoints the slices of one channel on a mux have.
func Shared(list []*discoveryv1.EndpointSlice) int {
	shared := 0
	for _, d := range demands(slices.Values(list)) {
		shared += d.shared(MaxEndpoints)
	}
	return shared
}

// demands adds up the slices of one channel by family. All slices of a Service have the same ports.
func demands(list func(func(*discoveryv1.EndpointSlice) bool)) map[discoveryv1.AddressType]demand {
	all := map[discoveryv1.AddressType]demand{}
	for slice := range list {
		d := all[slice.AddressType]
		all[slice.AddressType] = demand{d.endpoints + len(slice.Endpoints), max(d.ports, len(slice.Ports))}
	}
	return all
}

// limit cuts the wanted slices to what the channel's ports may have on a mux on gateways.
func (v *View) limit(wanted map[string]*discoveryv1.EndpointSlice) *Excess {
	if !v.Mux.OnGateways {
		return nil
	}
	all, ports, shared := demands(maps.Values(wanted)), 0, 0
	for _, d := range all {
		ports, shared = ports+d.ports, shared+d.shared(MaxEndpoints)
	}
	most := MaxEndpoints
	if shared > v.Room {
		most = min(most, FreeEndpoints+max(v.Room, 0)/max(ports, 1))
	}
	var excess *Excess
	for _, family := range slices.Sorted(maps.Keys(all)) {
		if d := all[family]; d.endpoints > most {
			excess = cmp.Or(excess, &Excess{family, d.endpoints, most, d.ports})
			v.cut(wanted, family, most)
		}
	}
	return excess
}

// candidate is an endpoint that a limit may cut.
type candidate struct {
	slice     string
	address   string
	rank      int
	isCarried bool
}

// cut leaves so many endpoints of a family: ready ones before others, and those that the mux has already before new
// ones. Slices that lose all their endpoints go.
func (v *View) cut(wanted map[string]*discoveryv1.EndpointSlice, family discoveryv1.AddressType, most int) {
	carried := map[string]bool{}
	for _, slice := range v.Carried {
		for i := range slice.Endpoints {
			carried[slice.Name+" "+firstAddress(&slice.Endpoints[i])] = true
		}
	}
	var all []candidate
	for name, slice := range wanted {
		for i := range slice.Endpoints {
			if address := firstAddress(&slice.Endpoints[i]); slice.AddressType == family {
				all = append(all, candidate{name, address, rankOf(&slice.Endpoints[i]), carried[name+" "+address]})
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), compareBools(b.isCarried, a.isCarried), cmp.Compare(a.address, b.address),
			cmp.Compare(a.slice, b.slice))
	})
	kept := map[candidate]bool{}
	for _, c := range all[:min(len(all), most)] {
		kept[candidate{slice: c.slice, address: c.address}] = true
	}
	for name, slice := range wanted {
		if slice.AddressType != family || len(slice.Endpoints) == 0 {
			continue
		}
		slice.Endpoints = slices.DeleteFunc(slices.Clone(slice.Endpoints), func(e discoveryv1.Endpoint) bool {
			c := candidate{slice: name, address: firstAddress(&e)}
			stays := kept[c]
			delete(kept, c) // an address may be there twice
			return !stays
		})
		if len(slice.Endpoints) == 0 {
			delete(wanted, name)
		}
	}
}

// rankOf is 0 for an endpoint that gets connections, 1 for one that gets them if no endpoint is ready, and else 2.
func rankOf(e *discoveryv1.Endpoint) int {
	switch {
	case isReady(e):
		return 0
	case e.Conditions.Serving != nil && *e.Conditions.Serving:
		return 1
	}
	return 2
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
