package validation

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// PortRange is a run of port numbers, both ends included.
type PortRange struct{ First, Last int32 }

// PortRanges is a set of port numbers in the order in which the mux's owner wrote them. Auto ports are taken in this
// order. The zero value is empty.
type PortRanges struct {
	written []PortRange // as written; adjacent ranges are joined
	sorted  []PortRange
	size    int
}

// AllPorts returns the set of all port numbers.
func AllPorts() PortRanges {
	all := []PortRange{{MinPort, MaxPort}}
	return PortRanges{written: all, sorted: all, size: MaxPort}
}

// Len returns the number of ports in the set.
func (r PortRanges) Len() int { return r.size }

// Contains says that the number is in the set.
func (r PortRanges) Contains(number int32) bool {
	i, exact := slices.BinarySearchFunc(r.sorted, number, func(run PortRange, n int32) int {
		return cmp.Compare(run.First, n)
	})
	return exact || i > 0 && number <= r.sorted[i-1].Last
}

// FirstOutside returns the first number of a run that isn't in the set; false if all are.
func (r PortRanges) FirstOutside(run PortRange) (int32, bool) {
	for number := run.First; number <= run.Last; {
		i, exact := slices.BinarySearchFunc(r.sorted, number, func(run PortRange, n int32) int {
			return cmp.Compare(run.First, n)
		})
		if !exact {
			i--
		}
		if i < 0 || r.sorted[i].Last < number {
			return number, true
		}
		number = r.sorted[i].Last + 1
	}
	return 0, false
}

// All yields every number in the written order.
func (r PortRanges) All() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, run := range r.written {
			for n := run.First; n <= run.Last; n++ {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// Ranges returns the ranges in the written order; adjacent ones are joined.
func (r PortRanges) Ranges() []PortRange { return slices.Clone(r.written) }

// Equal says that both have the same numbers in the same order.
func (r PortRanges) Equal(other PortRanges) bool { return slices.Equal(r.written, other.written) }

// String returns the ranges as a user would write them.
func (r PortRanges) String() string { return strings.Join(r.first(len(r.written)), ",") }

// Brief is String for messages: its length is limited.
func (r PortRanges) Brief() string { return brief(r.first(maxListed), len(r.written)) }

func (r PortRanges) first(most int) []string {
	first := make([]string, 0, min(len(r.written), most))
	for _, run := range r.written[:cap(first)] {
		first = append(first, run.String())
	}
	return first
}

func (r PortRange) String() string {
	if r.First == r.Last {
		return strconv.Itoa(int(r.First))
	}
	return strconv.Itoa(int(r.First)) + "-" + strconv.Itoa(int(r.Last))
}

// parsePortRanges parses "20000-20099,21000".
func parsePortRanges(n *note) PortRanges {
	var runs []PortRange
	for entry := range entries(n.value) {
		if n.full() {
			return PortRanges{}
		}
		if run, ok := parsePortRange(entry, n); ok {
			runs = append(runs, run)
		}
	}
	sorted := slices.SortedFunc(slices.Values(runs), func(a, b PortRange) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	refuseOverlaps(sorted, n)
	if !n.clean() {
		return PortRanges{}
	}
	set := PortRanges{written: join(runs), sorted: sorted}
	for _, run := range sorted {
		set.size += int(run.Last-run.First) + 1
	}
	return set
}

func parsePortRange(entry string, n *note) (PortRange, bool) {
	first, last, isRun := cut(entry, "-")
	if !isRun {
		last = first
	}
	from, ok := portNumber(first)
	to, ok2 := portNumber(last)
	switch {
	case !ok || !ok2:
		n.problem("", entry, textPortRange(entry))
		return PortRange{}, false
	case from > to:
		n.problem("", entry, textReversed(entry, to, from))
		return PortRange{}, false
	}
	return PortRange{from, to}, true
}

// refuseOverlaps compares each range with one earlier range: the one with the highest last number.
func refuseOverlaps(sorted []PortRange, n *note) {
	if len(sorted) == 0 {
		return
	}
	reach := sorted[0]
	for _, run := range sorted[1:] {
		if run.First <= reach.Last {
			if n.full() {
				return
			}
			n.problem("", run.String(), textOverlap(run, reach))
		}
		if run.Last > reach.Last {
			reach = run
		}
	}
}

// join joins adjacent ranges, so that a list of single numbers is as small as a range.
func join(runs []PortRange) []PortRange {
	var joined []PortRange
	for _, run := range runs {
		if last := len(joined) - 1; last >= 0 && joined[last].Last+1 == run.First {
			joined[last].Last = run.Last
			continue
		}
		joined = append(joined, run)
	}
	return joined
}
