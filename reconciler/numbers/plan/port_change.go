package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/validation"
)

// portChange is the difference between the ports that a mux has and those that it must have.
type portChange struct{ added, removed, renamed, changed []string }

func (c *portChange) empty() bool {
	return len(c.added)+len(c.removed)+len(c.renamed)+len(c.changed) == 0
}

// diffPorts compares ports and ranges with those on the mux. Their order is no difference: it is up to the tool that
// applies the mux.
func (w *writing) diffPorts(want []corev1.ServicePort, ranges []validation.MuxRange) portChange {
	change := diffRanges(w.w.Mux.Ranges, ranges)
	stay := 0
	for i := range want {
		port := &want[i]
		slot := SlotOf(port)
		old := w.onMux.bySlot.at(slot)
		if old == nil {
			change.added = append(change.added, slot.String())
			continue
		}
		stay++
		switch {
		case old.Name != port.Name:
			change.renamed = append(change.renamed, slot.String())
		case ptr.Deref(old.AppProtocol, "") != ptr.Deref(port.AppProtocol, ""):
			change.changed = append(change.changed, slot.String())
		}
	}
	if stay < len(w.onMux.ports) {
		change.removed = append(change.removed, w.removed(want)...)
	}
	return change
}

func diffRanges(live, want []validation.MuxRange) portChange {
	var change portChange
	names := make(map[Span]string, len(live))
	for _, r := range live {
		names[SpanOf(r)] = r.Name
	}
	for _, r := range want {
		switch name, there := names[SpanOf(r)]; {
		case !there:
			change.added = append(change.added, SpanOf(r).String())
		case name != r.Name:
			change.renamed = append(change.renamed, SpanOf(r).String())
		}
		delete(names, SpanOf(r))
	}
	for _, r := range live {
		if _, goes := names[SpanOf(r)]; goes {
			change.removed = append(change.removed, SpanOf(r).String())
		}
	}
	return change
}

func (w *writing) removed(want []corev1.ServicePort) []string {
	var stay slots[bool]
	for i := range want {
		stay.set(SlotOf(&want[i]), true)
	}
	var gone []Slot
	for i := range w.onMux.ports {
		if slot := SlotOf(&w.onMux.ports[i]); !stay.at(slot) {
			gone = append(gone, slot)
		}
	}
	slices.SortFunc(gone, compareSlots)
	removed := make([]string, 0, len(gone))
	for _, slot := range gone {
		removed = append(removed, slot.String())
	}
	return removed
}

func compareSlots(a, b Slot) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
}
