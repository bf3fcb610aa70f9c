package validation

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// MuxRange is a range of numbers of a mux. Gateways read it as they read an entry of spec.ports, which has a single
// number.
type MuxRange struct {
	// Name is the port's name on the mux. The ports of the mux's slices have the same name.
	Name     string
	Run      PortRange
	Protocol corev1.Protocol
}

// FormatRanges returns the ranges annotation, such as "1f0c5fd25a8f8ad2a2cb=10000-19999/UDP", in the order given.
func FormatRanges(ranges []MuxRange) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i] = r.Name + "=" + r.Run.String() + "/" + string(r.Protocol)
	}
	return strings.Join(texts, ",")
}

// ParseRanges parses a ranges annotation, and sorts the ranges. It drops entries that we can't have written. Of entries
// with one name the first counts.
func ParseRanges(value string) []MuxRange {
	var ranges []MuxRange
	seen := map[string]bool{}
	for entry := range entries(value) {
		name, numbers, _ := cut(entry, "=")
		run, under, _ := cut(numbers, "/")
		asked, ok := parseRequest(run)
		if !ok || !asked.IsRange() || !IsLabel(name) || seen[name] || protocol(corev1.Protocol(under)) == 0 {
			continue
		}
		seen[name] = true
		ranges = append(ranges, MuxRange{name, asked.Run(), corev1.Protocol(under)})
	}
	slices.SortFunc(ranges, CompareRanges)
	return ranges
}

// CompareRanges orders ranges by first number, protocol, last number and name.
func CompareRanges(a, b MuxRange) int {
	return cmp.Or(cmp.Compare(a.Run.First, b.Run.First), cmp.Compare(a.Protocol, b.Protocol),
		cmp.Compare(a.Run.Last, b.Run.Last), cmp.Compare(a.Name, b.Name))
}
