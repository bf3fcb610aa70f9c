package table

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// state is what the kernel holds for a family.
type state struct {
	// intact is false if the table, a set or a rule of it is missing, or was changed by others.
	intact bool
	// chains are the names of our chains, at least of all those of services.
	chains   map[string]bool
	elements elements
	// uses are nil until tables were applied.
	uses *uses
}

// change is the difference between the kernel's tables and the wanted ones.
type change struct {
	rebuild bool // the table is replaced as a whole
	chains  []chain
	unused  []string // chains to remove: a chain comes before those that its rules name
	remove  map[string][]place
	add     map[string][]place
	want    elements
	uses    *uses // nil if the state has counted them already
}

// empty is true if there is nothing to write.
func (c *change) empty() bool {
	return !c.rebuild && len(c.chains) == 0 && len(c.unused) == 0 && len(c.remove) == 0 && len(c.add) == 0
}

// differ returns what must change.
func (f family) differ(have *state, tables *want.Tables) change {
	c := change{remove: map[string][]place{}, add: map[string][]place{}}
	c.want, c.uses = f.elementsOf(tables)
	if !have.intact {
		c.rebuild, c.chains = true, append(c.uses.chains(f, maps.Keys(c.uses.choices)), f.baseChains()...)
		for set, wanted := range c.want {
			c.add[set] = sortedPlaces(wanted)
		}
		return c
	}
	touched := maps.Clone(c.uses.choices)
	for name := range have.chains {
		if choice, ok := parseChoice(name); ok {
			touched[choice] = 1
		}
	}
	c.differChains(f, have, c.uses, maps.Keys(touched))
	for _, set := range f.sets() {
		c.differ(set.name, have.elements[set.name], c.want[set.name])
	}
	return c
}

// differChains adds chains that are used and missing, and removes those that aren't used any more. A tenant chooses how
// many backends a port has, and so which chains there are.
func (c *change) differChains(f family, have *state, now *uses, touched iter.Seq[choice]) {
	choices := slices.Collect(touched)
	for _, chain := range now.chains(f, slices.Values(choices)) {
		if !have.chains[chain.name] {
			c.chains = append(c.chains, chain)
		}
	}
	for _, choice := range slices.Backward(slices.SortedFunc(slices.Values(choices), compareChoices)) {
		if name := choice.chain(); have.chains[name] && now.choices[choice] == 0 {
			c.unused = append(c.unused, name)
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
	next := &state{intact: true, chains: map[string]bool{}, elements: c.want, uses: c.uses}
	if c.uses == nil {
		next.elements, next.uses = have.elements, have.uses
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
	for _, name := range c.unused {
		delete(next.chains, name)
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

func sortedPlaces(of map[place]content) []place {
	places := slices.AppendSeq(make([]place, 0, len(of)), maps.Keys(of))
	slices.SortFunc(places, comparePlaces)
	return places
}
