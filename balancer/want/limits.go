package want

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Limits of ports, slots and networks, which are what an agent's memory and the kernel's transactions grow with. A
// dual-stack mux counts with both addresses.
const (
	MaxPortsOfMux     = 20_000
	MaxPortsOfMachine = 50_000
	MaxSlotsOfPort    = 1 << 10
	// Slots of a mux and of a machine are those beyond one for each port.
	MaxSlotsOfMux     = 40_000
	MaxSlotsOfMachine = 50_000
	// Networks are those of source ranges.
	MaxNetworksOfMux     = 1 << 14
	MaxNetworksOfMachine = 1 << 16
)

// draft is a service whose slots aren't chosen yet.
type draft struct {
	Service
	port   validation.MuxRange
	slices []source
	local  bool
	// demand is how many slots the service would have without limits. It is alike on all gateways: so it counts endpoints
	// that this gateway refuses, too.
	demand int
}

// limit says how many slots a service may have, and which limit that is.
type limit struct {
	most int
	why  string
}

const (
	whyPort = "a port may have %d: use fewer and larger backends"
	whyMux  = "beyond one for each port, all ports of a mux may have %d together: " +
		"use fewer ports or backends, or another mux"
	whyMachine = "beyond one for each port, all muxes of a pool may have %d together: " +
		"use fewer ports or backends, or another pool"
)

// share is the room of a mux.
type share struct {
	room int
	// ofMachine is true if the muxes of the machine leave this mux less than a mux may have.
	ofMachine bool
}

// divide divides the room of a machine among namespaces, and the room of a namespace among its muxes. A demand below an
// even share gets all that it needs. The others share the rest evenly. So a large demand takes nothing from those
// within an even share, and a tenant has no more of the machine by having more muxes.
func divide(demands map[types.NamespacedName]int, ofMux, ofMachine int) map[types.NamespacedName]share {
	ofNamespace := map[string][]int{}
	for mux, demand := range demands {
		ofNamespace[mux.Namespace] = append(ofNamespace[mux.Namespace], min(demand, ofMux))
	}
	totals := make([]int, 0, len(ofNamespace))
	for _, list := range ofNamespace {
		totals = append(totals, sum(list))
	}
	each := level(totals, ofMachine)
	levels := map[string]int{}
	for namespace, list := range ofNamespace {
		levels[namespace] = level(list, each)
	}
	shares := map[types.NamespacedName]share{}
	for mux := range demands {
		most := levels[mux.Namespace]
		shares[mux] = share{min(most, ofMux), most < ofMux}
	}
	return shares
}

// level returns the largest number to which all demands can be cut so that together they need no more than there is.
func level(demands []int, most int) int {
	demands = slices.Sorted(slices.Values(demands))
	for i, demand := range demands {
		share := most / (len(demands) - i)
		if demand > share {
			return share
		}
		most -= demand
	}
	return math.MaxInt
}

// limits returns the limit of the slots of each service. Each port has one slot whatever others have, so that no port
// is closed. The other slots are divided.
func limits(drafts []draft) []limit {
	demands, totals := map[types.NamespacedName][]int{}, map[types.NamespacedName]int{}
	for i := range drafts {
		more := max(min(drafts[i].demand, MaxSlotsOfPort)-1, 0)
		demands[drafts[i].Mux] = append(demands[drafts[i].Mux], more)
		totals[drafts[i].Mux] += more
	}
	shares, levels := divide(totals, MaxSlotsOfMux, MaxSlotsOfMachine), map[types.NamespacedName]int{}
	for mux, list := range demands {
		levels[mux] = level(list, shares[mux].room)
	}
	why := map[bool]string{false: fmt.Sprintf(whyMux, MaxSlotsOfMux), true: fmt.Sprintf(whyMachine, MaxSlotsOfMachine)}
	all := make([]limit, len(drafts))
	for i := range drafts {
		mux := drafts[i].Mux
		if all[i] = (limit{MaxSlotsOfPort, fmt.Sprintf(whyPort, MaxSlotsOfPort)}); levels[mux] < MaxSlotsOfPort-1 {
			all[i] = limit{1 + levels[mux], why[shares[mux].ofMachine]}
		}
	}
	return all
}

// withoutExcess returns the services without those that are beyond the room for ports. Those with the lowest numbers
// stay.
func (d *deciding) withoutExcess(drafts []draft) []draft {
	counts := map[types.NamespacedName]int{}
	for i := range drafts {
		counts[drafts[i].Mux]++
	}
	shares := divide(counts, MaxPortsOfMux, MaxPortsOfMachine)
	kept, used := drafts[:0], map[types.NamespacedName]int{}
	for _, s := range drafts {
		if used[s.Mux]++; used[s.Mux] <= shares[s.Mux].room {
			kept = append(kept, s)
		}
	}
	for mux, count := range counts {
		if room := shares[mux].room; count > room {
			d.refuse(mux, "", TooManyPorts, fmt.Sprintf("mux %s has %d ports and ranges, counted for each address, and %d of "+
				"them are carried: a mux may have %d, and all muxes of a pool %d: use fewer ports, or another pool", mux, count,
				room, MaxPortsOfMux, MaxPortsOfMachine))
		}
	}
	return kept
}

// closeExcess closes ports whose lists of networks are beyond the room: with a part of its list, a port would shut out
// clients that may connect. Short lists come first. The ports of a channel share a list.
func (d *deciding) closeExcess(drafts []draft) {
	type list struct {
		mux types.NamespacedName
		of  *Slice
	}
	lists, totals := []*draft{}, map[types.NamespacedName]int{}
	counted := map[list]bool{}
	listOf := func(s *draft) list { return list{s.Mux, s.slices[0].Slice} }
	for i := range drafts {
		s := &drafts[i]
		if len(s.slices) == 0 || len(s.Sources) == 0 || counted[listOf(s)] {
			continue
		}
		counted[listOf(s)], lists = true, append(lists, s)
		totals[s.Mux] += len(s.Sources)
	}
	slices.SortStableFunc(lists, func(a, b *draft) int { return cmp.Compare(len(a.Sources), len(b.Sources)) })
	shares, used, closed := divide(totals, MaxNetworksOfMux,
		MaxNetworksOfMachine), map[types.NamespacedName]int{}, map[list]bool{}
	for _, s := range lists {
		if used[s.Mux]+len(s.Sources) > shares[s.Mux].room {
			closed[listOf(s)] = true
			continue
		}
		used[s.Mux] += len(s.Sources)
	}
	why := map[bool]string{
		false: fmt.Sprintf("all channels of a mux may have %d together: use fewer of them, or another mux", MaxNetworksOfMux),
		true: fmt.Sprintf("all muxes of a pool may have %d together: use fewer of them, or another pool",
			MaxNetworksOfMachine),
	}
	for i := range drafts {
		s := &drafts[i]
		if len(s.slices) == 0 || !closed[listOf(s)] {
			continue
		}
		d.refuse(s.Mux, s.port.Name, TooManyNetworks,
			fmt.Sprintf("%s is closed: it has %d source ranges, and the mux has room for %d: %s",
				s.port.Name, len(s.Sources), shares[s.Mux].room, why[shares[s.Mux].ofMachine]))
		s.slices, s.demand = nil, 0
	}
}

func sum(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

// fill chooses the slots of all services within the limits.
func (d *deciding) fill(drafts []draft) []Service {
	d.closeExcess(drafts)
	all := make([]Service, 0, len(drafts))
	for i, limit := range limits(drafts) {
		draft := &drafts[i]
		if draft.demand > limit.most {
			d.refuse(draft.Mux, draft.port.Name, TooManySlots, fmt.Sprintf("%s has %d backends, and %d of them are used: %s",
				draft.port.Name, draft.demand, limit.most, limit.why))
		}
		if draft.slices != nil {
			draft.Slots = d.slots(draft, limit.most)
		}
		draft.Slots = draft.Slots[:min(len(draft.Slots), limit.most)]
		all = append(all, draft.plain())
	}
	return all
}

// demand returns how many slots a port would have without limits.
func (d *deciding) demand(list []source) int {
	ready, draining, total := map[weight]int{}, 0, 0
	for _, slice := range list {
		c := d.contentOf(slice.Slice)
		if c.allReady > 0 {
			ready[c.weight] += c.allReady
		}
		draining += c.allDraining
	}
	if len(ready) == 0 {
		return draining
	}
	each := slotsOfEach(ready, MaxSlotsOfPort)
	for w, n := range ready {
		total += n * each[w]
	}
	return total
}
