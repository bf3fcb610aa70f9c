package main

import (
	"fmt"
	"slices"
	"strings"
)

// choose applies --controllers to the known names: "*" stands for all of them, "name" for one, "-name" takes one
// away. A list that only takes away starts from all, as the chart's disableAutoApproval expects. To take away what
// isn't linked is fine (it doesn't run), to ask for it is an error.
func choose(wanted, known []string) ([]string, error) {
	var without []string
	chosen := map[string]bool{}
	for _, name := range wanted {
		if off, ok := strings.CutPrefix(name, "-"); ok {
			without = append(without, off)
			continue
		}
		if name != "*" && !slices.Contains(known, name) {
			return nil, fmt.Errorf("--controllers: %q isn't one of %s", name, strings.Join(known, ", "))
		}
		chosen[name] = true
	}
	if chosen["*"] || len(chosen) == 0 {
		for _, name := range known {
			chosen[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(name string) bool {
		return !chosen[name] || slices.Contains(without, name)
	}), nil
}
