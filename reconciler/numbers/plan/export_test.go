package plan

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func DerivedName(id PortID) string { return derivedName(id) }

// Recount counts slots after a decision, and compares the counts with the counters that the decision kept.
func Recount(w World, m Memory) error {
	p := decide(&w, &m)
	numbers, holders, held, of, carrying := 0, 0, 0, map[string]int{}, map[corev1.Protocol]int{}
	for slot := range p.foreign {
		held++
		carrying[slot.Protocol]++
	}
	for _, claim := range p.claims {
		if claim.State == Held {
			held += claim.Span().size()
			of[claim.Owner.Channel.Namespace] += claim.Span().size()
			carrying[claim.Owner.Protocol]++
		}
		for slot := range claim.Span().slots() {
			if numbers++; p.holders.at(slot) != claim {
				return fmt.Errorf("%s of %s isn't among the holders", slot, claim.Owner.Channel)
			}
		}
		if !slices.Contains(p.claimsOf(claim.Owner.Channel), claim) {
			return fmt.Errorf("%s of %s isn't among its channel's claims", claim.Slot(), claim.Owner.Channel)
		}
	}
	for _, pages := range p.holders.pages {
		for _, page := range pages {
			if page == nil {
				continue
			}
			for _, claim := range page {
				if claim != nil {
					holders++
				}
			}
		}
	}
	if holders != numbers {
		return fmt.Errorf("there are %d holders of %d numbers", holders, numbers)
	}
	drop := func(m map[string]int) { maps.DeleteFunc(m, func(_ string, n int) bool { return n == 0 }) }
	drop(p.inUseBy)
	maps.DeleteFunc(p.carrying, func(_ corev1.Protocol, n int) bool { return n == 0 })
	if held != p.inUse || !maps.Equal(of, p.inUseBy) || !maps.Equal(carrying, p.carrying) {
		return fmt.Errorf("the counters are %d %v %v, want %d %v %v", p.inUse, p.inUseBy, p.carrying, held, of, carrying)
	}
	return nil
}

// HeldNotes returns how many bytes of text the remarks about channels hold.
func HeldNotes(w World) int {
	held := 0
	for _, c := range decide(&w, &Memory{}).channels {
		for _, note := range c.remarks {
			held += len(note.message) + len(note.denied.name) + len(note.denied.holder)
		}
	}
	return held
}

// SettingsTold returns the messages that quote a setting of the mux, by topic.
func SettingsTold(mux *ObservedMux) map[string]string {
	slot := Slot{Number: 2, Protocol: corev1.ProtocolTCP}
	static := &Claim{Owner: PortID{Name: "http", Protocol: slot.Protocol}, Public: 2, Source: Static}
	picked := &Claim{Owner: PortID{Name: "http", Protocol: slot.Protocol}, Public: 2, Source: Auto}
	return map[string]string{
		"a name":              textHostnameNotAllowed("www.example.com", mux),
		"a namespace":         textNamespace(mux, "else"),
		"a number":            textNotExplicit("http", slot, mux, true),
		"a listener's number": textNotExplicit("tcp", slot, mux, false),
		"no number":           textExhausted("http", slot.Protocol, mux),
		"a number asked for":  textOutOfRange(static, mux),
		"a number picked":     textOutOfRange(picked, mux),
	}
}
