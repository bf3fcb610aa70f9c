package view

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// States of a number.
const (
	slotHeld      = "held"
	slotWithheld  = "withheld"
	slotReleasing = "releasing"
	slotGrace     = "grace"
	slotForeign   = "foreign"
)

func rangesOf(numbers validation.PortRanges) []Range {
	ranges := []Range{}
	for _, run := range numbers.Ranges() {
		ranges = append(ranges, Range(run))
	}
	return ranges
}

// slotsOf returns the numbers in use, sorted: claims that the plan keeps or releases, numbers that the ledger holds in
// grace, and foreign ports of the mux.
func slotsOf(s *sight.Sight) []Slot {
	disabled := map[types.NamespacedName]bool{}
	for i := range s.World.Channels {
		disabled[s.World.Channels[i].Key] = s.World.Channels[i].Disabled
	}
	taken := map[plan.Slot]Slot{}
	claimed := func(claim *plan.Claim, state string) {
		if _, twice := taken[claim.Slot()]; !twice {
			taken[claim.Slot()] = slotOf(claim, state)
		}
	}
	for i := range s.Plan.InForce {
		state := slotHeld
		if disabled[s.Plan.InForce[i].Owner.Channel] {
			state = slotWithheld
		}
		claimed(&s.Plan.InForce[i], state)
	}
	for i := range s.Plan.Leaving {
		claimed(&s.Plan.Leaving[i], slotReleasing)
	}
	written := ledgerAfter(s)
	for i := range written {
		switch claim := &written[i]; claim.State {
		case plan.InGrace:
			claimed(claim, slotGrace)
		case plan.Releasing:
			claimed(claim, slotReleasing)
		case plan.Held: // a claim in force is in taken already; others are withheld
			claimed(claim, slotWithheld)
		}
	}
	for i := range s.World.Mux.Ports {
		port := &s.World.Mux.Ports[i]
		slot := slotOfPort(port)
		if _, ours := taken[slot]; !ours {
			taken[slot] = Slot{Number: slot.Number, Protocol: string(slot.Protocol), State: slotForeign, Port: port.Name}
		}
	}
	list := make([]Slot, 0, len(taken))
	for _, slot := range taken {
		list = append(list, slot)
	}
	slices.SortFunc(list, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
	})
	return list
}

// ledgerAfter returns the ledger's claims after the plan is carried out.
func ledgerAfter(s *sight.Sight) []plan.Claim {
	switch {
	case s.Plan.Settle != nil:
		return s.Plan.Settle.Ledger.Claims
	case s.Plan.Reserve != nil:
		return s.Plan.Reserve.Ledger.Claims
	}
	return s.World.Ledger.Ledger.Claims
}

func slotOf(claim *plan.Claim, state string) Slot {
	slot := Slot{
		Number: claim.Public, Last: claim.Last, Protocol: string(claim.Owner.Protocol), State: state,
		Channel: claim.Owner.Channel.String(), Port: claim.Owner.Name,
	}
	if state == slotGrace {
		slot.Until = timeOf(claim.Until)
	}
	return slot
}

// Span returns the numbers of a slot.
func (s *Slot) Span() plan.Span { return plan.NewSpan(s.Number, s.Last, corev1.Protocol(s.Protocol)) }

// Has is true if the slot has a number.
func (s *Slot) Has(slot plan.Slot) bool { return s.Span().Covers(slot.Span()) }

func slotOfPort(port *corev1.ServicePort) plan.Slot {
	return plan.Slot{Number: port.Port, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP)}
}
