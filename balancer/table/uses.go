package table

import (
	"iter"
	"maps"
	"net/netip"
	"slices"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// uses counts what services share: an element or chain is needed as long as one service uses it.
type uses struct {
	replies replies
	lists   map[string]int // lists of networks, by name
	choices map[choice]int
}

func newUses() *uses {
	return &uses{replies: replies{}, lists: map[string]int{}, choices: map[choice]int{}}
}

// count adds the services to the counts, or subtracts them if by is -1.
func (u *uses) count(services []want.Service, returnsHere map[netip.Addr]bool, by int) {
	u.replies.count(services, returnsHere, by)
	for i := range services {
		s := &services[i]
		if len(s.Sources) > 0 {
			add(u.lists, listOf(s.Sources), by)
		}
		c := choiceOf(s)
		add(u.choices, c, by)
		if c.filtered { // its chain leads to the one without a filter
			c.filtered = false
			add(u.choices, c, by)
		}
	}
}

// add changes a count. Counts of zero aren't kept.
func add[K comparable](counts map[K]int, key K, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}

// addTo adds the elements that services share: only those that are still used, and only for what the services of
// touched use.
func (u *uses) addTo(all elements, touched *uses, services ...[]want.Service) {
	u.replies.addTo(all, maps.Keys(touched.replies))
	added := map[string]bool{}
	for _, list := range services {
		for i := range list {
			if len(list[i].Sources) == 0 {
				continue
			}
			if name := listOf(list[i].Sources); u.lists[name] > 0 && !added[name] {
				added[name] = true
				all.addNetworks(name, list[i].Sources)
			}
		}
	}
}

// chains returns the chains of choices that are used, sorted: a chain comes after those that its rules name.
func (u *uses) chains(f family, of iter.Seq[choice]) []chain {
	var chains []chain
	for _, c := range slices.SortedFunc(of, compareChoices) {
		if u.choices[c] > 0 {
			chains = append(chains, chain{name: c.chain(), rules: c.rules(f)})
		}
	}
	return chains
}
