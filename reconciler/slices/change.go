package slices

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// fewAddresses is how many addresses a message names.
const fewAddresses = 3

// compareEndpoints returns how two lists of endpoints differ, and whether an endpoint left. Their first address identifies
// endpoints.
func compareEndpoints(is, want []discoveryv1.Endpoint) (text string, loses bool) {
	before := make(map[string]*discoveryv1.Endpoint, len(is))
	for i := range is {
		before[firstAddress(&is[i])] = &is[i]
	}
	var came, changed []string
	for i := range want {
		address := firstAddress(&want[i])
		old := before[address]
		delete(before, address)
		switch {
		case old == nil:
			came = append(came, address)
		case !sameEndpoint(*old, want[i]):
			changed = append(changed, address)
		}
	}
	left := slices.Sorted(maps.Keys(before))
	parts := slices.Concat(few(came, "came"), few(left, "left"), few(changed, "changed"))
	return cmp.Or(strings.Join(parts, ", "), "endpoints are in another order"), len(left) > 0
}

func few(list []string, verb string) []string {
	switch more := len(list) - fewAddresses; {
	case len(list) == 0:
		return nil
	case more > 0:
		return []string{fmt.Sprintf("%s and %d more %s", strings.Join(list[:fewAddresses], " "), more, verb)}
	}
	return []string{strings.Join(list, " ") + " " + verb}
}

func firstAddress(e *discoveryv1.Endpoint) string {
	if len(e.Addresses) == 0 {
		return ""
	}
	return e.Addresses[0]
}
