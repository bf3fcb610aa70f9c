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
	// chains are the names of the chains of services.
	chains   map[string]bool
	elements elements
}

// change is the difference between what the kernel holds and what it must hold.
type change struct {
	rebuild bool // the table is replaced as a whole
	chains  []chain
	remove  map[string][]place
	add     map[string][]place
	want    elements
}

// empty is true if there is nothing to write.
func (c *change) empty() bool {
	return !c.rebuild && len(c.chains) == 0 && len(c.remove) == 0 && len(c.add) == 0
}

// differ returns what must change. Chains that no service needs any more stay: they do nothing, and the next service with as
// many backends needs them again.
func (f family) differ(have *state, tables *want.Tables) change {
	c := change{want: f.elementsOf(tables), remove: map[string][]place{}, add: map[string][]place{}}
	chains := f.choiceChains(tables)
	if !have.intact {
		c.rebuild, c.chains = true, append(chains, f.baseChains()...)
		for set, wanted := range c.want {
			c.add[set] = sortedPlaces(maps.Keys(wanted))
		}
		return c
	}
	for _, chain := range chains {
		if !have.chains[chain.name] {
			c.chains = append(c.chains, chain)
		}
	}
	for _, set := range f.sets() {
		c.differ(set.name, have.elements[set.name], c.want[set.name])
	}
	return c
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

// after returns the state once the kernel has taken the change.
func (c *change) after(have *state) *state {
	next := &state{intact: true, chains: map[string]bool{}, elements: c.want}
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

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.end, b.end))
}

func sortedPlaces(places iter.Seq[place]) []place { return slices.SortedFunc(places, comparePlaces) }
