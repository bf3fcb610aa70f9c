package want

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Limits of slots and networks, which are what an agent's memory and the kernel's transactions grow with. A dual-stack mux counts with both addresses.
const (
	MaxSlotsOfPort    = 1 << 10
	MaxSlotsOfMux     = 1 << 16
	MaxSlotsOfMachine = 1 << 17
	// Networks are those of source ranges.
	MaxNetworksOfMux     = 1 << 14
	MaxNetworksOfMachine = 1 << 16
)

// draft is a service whose slots aren't chosen yet.
type draft struct {
	Service
	port   validation.MuxRange
	slices []*Slice
	local  bool
	// demand is how many slots the service would have without limits. It is alike on all gateways: so it counts endpoints that this gateway
	// refuses, too.
	demand int
}

// limit says how many slots a service may have, and which limit that is.
type limit struct {
	most int
	why  string
}

const (
	whyPort    = "a port may have %d: use fewer and larger backends"
	whyMux     = "all ports of a mux may have %d together: use fewer ports or backends, or another mux"
	whyMachine = "all muxes of a pool may have %d together: use fewer ports or backends, or another pool"
)

// share is how much of something each claimant of a mux may have at most.
type share struct {
	most int
	// ofMachine is true if the muxes of the machine leave this mux less than a mux may have.
	ofMachine bool
}

// divide divides what a machine has among muxes, and what a mux has among its demands: whoever needs less than an even share gets it all, and
// the others share the rest evenly. So what one mux or claimant asks for takes nothing from those within an even share.
func divide(demands map[types.NamespacedName][]int, ofMux, ofMachine int) map[types.NamespacedName]share {
	totals := make([]int, 0, len(demands))
	for _, list := range demands {
		totals = append(totals, min(sum(list), ofMux))
	}
	most := level(totals, ofMachine)
	shares := map[types.NamespacedName]share{}
	for mux, list := range demands {
		shares[mux] = share{level(list, min(most, ofMux)), most < ofMux}
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

// limits returns the limit of the slots of each service.
func limits(drafts []draft) []limit {
	demands := map[types.NamespacedName][]int{}
	for i := range drafts {
		demands[drafts[i].Mux] = append(demands[drafts[i].Mux], min(drafts[i].demand, MaxSlotsOfPort))
	}
	shares := divide(demands, MaxSlotsOfMux, MaxSlotsOfMachine)
	why := map[bool]string{false: fmt.Sprintf(whyMux, MaxSlotsOfMux), true: fmt.Sprintf(whyMachine, MaxSlotsOfMachine)}
	all := make([]limit, len(drafts))
	for i := range drafts {
		share := shares[drafts[i].Mux]
		all[i] = limit{share.most, why[share.ofMachine]}
		if all[i].most >= MaxSlotsOfPort {
			all[i] = limit{MaxSlotsOfPort, fmt.Sprintf(whyPort, MaxSlotsOfPort)}
		}
	}
	return all
}

// closeExcess closes ports whose lists of networks are too long for the room that is left: with a part of its list, a port would shut out
// clients that may connect. The ports of a channel share a list.
func (d *deciding) closeExcess(drafts []draft) {
	type list struct {
		mux types.NamespacedName
		of  *Slice
	}
	demands, counted := map[types.NamespacedName][]int{}, map[list]bool{}
	for i := range drafts {
		s := &drafts[i]
		if len(s.slices) == 0 || len(s.Sources) == 0 || counted[list{s.Mux, s.slices[0]}] {
			continue
		}
		counted[list{s.Mux, s.slices[0]}] = true
		demands[s.Mux] = append(demands[s.Mux], len(s.Sources))
	}
	shares := divide(demands, MaxNetworksOfMux, MaxNetworksOfMachine)
	for i := range drafts {
		s := &drafts[i]
		share, asks := shares[s.Mux], len(s.Sources)
		if len(s.slices) == 0 || asks == 0 || asks <= share.most {
			continue
		}
		why := fmt.Sprintf("all channels of a mux may have %d together: use fewer of them, or another mux", MaxNetworksOfMux)
		if share.ofMachine {
			why = fmt.Sprintf("all muxes of a pool may have %d together: use fewer of them, or another pool", MaxNetworksOfMachine)
		}
		d.refuse(s.Mux, s.port.Name, TooManyNetworks, fmt.Sprintf("%s is closed: it has %d source ranges, and there is room for %d: %s",
			s.port.Name, asks, share.most, why))
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
func (d *deciding) demand(list []*Slice) int {
	ready, draining, total := map[weight]int{}, 0, 0
	for _, slice := range list {
		c := d.contentOf(slice)
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
