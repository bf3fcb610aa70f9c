package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// byName returns channels sorted by namespace, then name. It copies the names into one slice: to read them from
// thousands of objects would take longer than to sort them.
func byName(channels []channel) []*channel {
	type entry struct {
		name string
		of   *channel
	}
	within := map[string][]entry{}
	for i := range channels {
		key := &channels[i].Key
		within[key.Namespace] = append(within[key.Namespace], entry{key.Name, &channels[i]})
	}
	sorted := make([]*channel, 0, len(channels))
	for _, namespace := range slices.Sorted(maps.Keys(within)) {
		entries := within[namespace]
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		for i := range entries {
			sorted = append(sorted, entries[i].of)
		}
	}
	return sorted
}

// byAge sorts channels by age, the oldest first, then by name. Its input must be sorted by name.
func byAge(sorted []*channel) []*channel {
	type entry struct {
		second     int64
		nano, rank int32
	}
	entries := make([]entry, len(sorted))
	for i, c := range sorted {
		entries[i] = entry{c.Created.Unix(), int32(c.Created.Nanosecond()), int32(i)}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		switch {
		case a.second != b.second:
			return cmp.Compare(a.second, b.second)
		case a.nano != b.nano:
			return cmp.Compare(a.nano, b.nano)
		}
		return cmp.Compare(a.rank, b.rank)
	})
	aged := make([]*channel, len(entries))
	for i := range entries {
		aged[i] = sorted[entries[i].rank]
	}
	return aged
}
