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
		"a star is everything":                      {wanted: []string{"*"}, chosen: known},
		"a name is just that":                       {wanted: []string{"ca"}, chosen: []string{"ca"}},
		"a minus takes from the star, in any order": {wanted: []string{"-ca", "*"}, chosen: []string{"approver", "issuers"}},
		"only minuses take from everything":         {wanted: []string{"-approver"}, chosen: []string{"ca", "issuers"}},
		"what isn't linked can be taken away":       {wanted: []string{"-orders"}, chosen: known},
		"what isn't linked can't be asked for":      {wanted: []string{"*", "orders"}, refused: true},
		"the answer is sorted":                      {wanted: []string{"issuers", "ca"}, chosen: []string{"ca", "issuers"}},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(test.wanted, known)
			if refused := err != nil; refused != test.refused || !slices.Equal(chosen, test.chosen) {
				t.Errorf("choose(%q) = %q, %v; want %q, refused: %t", test.wanted, chosen, err, test.chosen, test.refused)
			}
		})
	}
}
