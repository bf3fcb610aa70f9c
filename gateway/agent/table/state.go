package table

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"nowake.ai/svc-lb-mux/gateway/agent/want"
)

// state is what the kernel holds for a family.
type state struct {
	// intact is false if the table, a set or a rule of it is missing, or was changed by others.
	intact bool
	// chains are the names of our chains, at least of all those of services.
	chains   map[string]bool
	elements elements
	// replies are nil until tables were applied.
	replies replies
}

// change is the difference between the kernel's tables and the wanted ones.
type change struct {
	rebuild bool // the table is replaced as a whole
	chains  []chain
	remove  map[string][]place
	add     map[string][]place
	want    elements
	replies replies // nil if the state has counted them already
}

// empty is true if there is nothing to write.
func (c *change) empty() bool {
	return !c.rebuild && len(c.chains) == 0 && len(c.remove) == 0 && len(c.add) == 0
}

// differ returns what must change. Chains that no service needs any more stay: they do nothing, and the next service with as
// many backends needs them again.
func (f family) differ(have *state, tables *want.Tables) change {
	c := change{remove: map[string][]place{}, add: map[string][]place{}}
	c.want, c.replies = f.elementsOf(tables)
	chains := f.choiceChains(f.servicesOf(tables.Services))
	if !have.intact {
		c.rebuild, c.chains = true, append(chains, f.baseChains()...)
		for set, wanted := range c.want {
			c.add[set] = sortedPlaces(maps.Keys(wanted))
		}
		return c
	}
	c.addMissing(chains, have)
	for _, set := range f.sets() {
		c.differ(set.name, have.elements[set.name], c.want[set.name])
	}
	return c
}

func (c *change) addMissing(chains []chain, have *state) {
	for _, chain := range chains {
		if !have.chains[chain.name] {
			c.chains = append(c.chains, chain)
		}
	}
}

func (c *change) differ(set string, have, wanted map[place]content) {
	for at, what := range have {
		if now, stays := wanted[at]; !stays || now != what {
			c.remove[set] = append(c.remove[set], at)
		}
	}
	for at, what := range wanted {
		if before, there := have[at]; !there || before != what {
			c.add[set] = append(c.add[set], at)
		}
	}
	slices.SortFunc(c.remove[set], comparePlaces)
	slices.SortFunc(c.add[set], comparePlaces)
}

// after returns the state once the kernel has taken the change. It may reuse the former state's elements.
func (c *change) after(have *state) *state {
	next := &state{intact: true, chains: map[string]bool{}, elements: c.want, replies: c.replies}
	if c.replies == nil {
		next.elements, next.replies = have.elements, have.replies
		c.patch(next.elements)
	}
	if !c.rebuild {
		maps.Copy(next.chains, have.chains)
	}
	for i := range c.chains {
		if c.chains[i].hook == nil {
			next.chains[c.chains[i].name] = true
		}
	}
	return next
}

// patch removes and adds elements, as the kernel does.
func (c *change) patch(all elements) {
	for set, places := range c.remove {
		for _, at := range places {
			delete(all[set], at)
		}
	}
	for set, places := range c.add {
		for _, at := range places {
			all.add(set, at, c.want[set][at])
		}
	}
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.end, b.end))
}

func sortedPlaces(places iter.Seq[place]) []place { return slices.SortedFunc(places, comparePlaces) }
