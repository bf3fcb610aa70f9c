package want

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// Limits of slots, which are what an agent's memory and the kernel's transactions grow with. A dual-stack mux counts with both addresses.
const (
	MaxSlotsOfPort    = 1 << 10
	MaxSlotsOfMux     = 1 << 16
	MaxSlotsOfMachine = 1 << 17
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

// limits returns the limit of each service. The slots of a mux are divided among its ports, and those of the machine among the muxes: whoever
// needs less than an even share gets it all, and the others share the rest evenly.
func limits(drafts []draft) []limit {
	ofMux := map[types.NamespacedName][]int{}
	for i := range drafts {
		ofMux[drafts[i].Mux] = append(ofMux[drafts[i].Mux], min(drafts[i].demand, MaxSlotsOfPort))
	}
	totals := make([]int, 0, len(ofMux))
	for _, demands := range ofMux {
		totals = append(totals, min(sum(demands), MaxSlotsOfMux))
	}
	mostOfMux := level(totals, MaxSlotsOfMachine)
	levels := map[types.NamespacedName]limit{}
	for mux, demands := range ofMux {
		if mostOfMux < MaxSlotsOfMux {
			levels[mux] = limit{level(demands, mostOfMux), fmt.Sprintf(whyMachine, MaxSlotsOfMachine)}
			continue
		}
		levels[mux] = limit{level(demands, MaxSlotsOfMux), fmt.Sprintf(whyMux, MaxSlotsOfMux)}
	}
	all := make([]limit, len(drafts))
	for i := range drafts {
		all[i] = levels[drafts[i].Mux]
		if all[i].most >= MaxSlotsOfPort {
			all[i] = limit{MaxSlotsOfPort, fmt.Sprintf(whyPort, MaxSlotsOfPort)}
		}
	}
	return all
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
	return MaxSlotsOfMachine
}

func sum(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

// fill chooses the slots of all services within the limits.
func (d *deciding) fill(drafts []draft) []Service {
	var all []Service
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
