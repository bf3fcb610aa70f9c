package main

import (
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	known := []string{"approver", "ca", "issuers"}
	for name, test := range map[string]struct {
		wanted, chosen []string
		refused        bool
	}{
		"a star selects all":                     {wanted: []string{"*"}, chosen: known},
		"a name selects only itself":             {wanted: []string{"ca"}, chosen: []string{"ca"}},
		"a minus removes from all, in any order": {wanted: []string{"-ca", "*"}, chosen: []string{"approver", "issuers"}},
		"only minuses remove from all":           {wanted: []string{"-approver"}, chosen: []string{"ca", "issuers"}},
		"an unlinked name can be removed":        {wanted: []string{"-orders"}, chosen: known},
		"an unlinked name can't be requested":    {wanted: []string{"*", "orders"}, refused: true},
		"the answer is sorted":                   {wanted: []string{"issuers", "ca"}, chosen: []string{"ca", "issuers"}},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(test.wanted, known)
			if refused := err != nil; refused != test.refused || !slices.Equal(chosen, test.chosen) {
				t.Errorf("choose(%q) = %q, %v; want %q, refused: %t", test.wanted, chosen, err, test.chosen, test.refused)
			}
		})
	}
}
