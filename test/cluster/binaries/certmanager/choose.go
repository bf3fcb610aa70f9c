package main

import (
	"fmt"
	"slices"
	"strings"
)

// choose applies --controllers to the known names: "*" selects all, "name" adds a name, "-name" removes it. A list with
// only removals starts from all, as the chart's disableAutoApproval expects. It ignores the removal of an unknown name.
// Adding an unknown name is an error.
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
