package plan

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// DerivedName is the name of a port on the mux that can be told from its owner alone.
func DerivedName(id PortID) string { return derivedName(id) }

// Recount counts slots after a decision, and compares with what was counted on the way.
func Recount(w World) error {
	p := decide(&w)
	held, of, carrying := 0, map[string]int{}, map[corev1.Protocol]int{}
	for slot := range p.table.foreign {
		held++
		carrying[slot.Protocol]++
	}
	for _, claim := range p.claims {
		if claim.State == Held || p.published(claim) {
			held++
			of[claim.Owner.Channel.Namespace]++
			carrying[claim.Owner.Protocol]++
		}
		if p.table.holders.at(claim.Slot()) != claim {
			return fmt.Errorf("%s of %s isn't in the table", claim.Slot(), claim.Owner.Channel)
		}
		if !slices.Contains(p.claimsOf(claim.Owner.Channel), claim) {
			return fmt.Errorf("%s of %s isn't owned", claim.Slot(), claim.Owner.Channel)
		}
	}
	if p.table.holders.len() != len(p.claims) {
		return fmt.Errorf("the table has %d claims of %d", p.table.holders.len(), len(p.claims))
	}
	drop := func(m map[string]int) { maps.DeleteFunc(m, func(_ string, n int) bool { return n == 0 }) }
	drop(p.heldBy)
	maps.DeleteFunc(p.carrying, func(_ corev1.Protocol, n int) bool { return n == 0 })
	if held != p.held || w.Mux != nil && w.Mux.CapPerNamespace > 0 && !maps.Equal(of, p.heldBy) || !maps.Equal(carrying, p.carrying) {
		return fmt.Errorf("counted %d %v %v, and there are %d %v %v", p.held, p.heldBy, p.carrying, held, of, carrying)
	}
	return nil
}
