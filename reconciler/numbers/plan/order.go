package plan

import (
	"maps"
	"slices"
	"strings"
)

// byName returns channels sorted by namespace, then name. It sorts each namespace separately, and keeps the names
// beside each other in memory: that takes half the time, which counts for thousands of channels.
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

// byAge returns channels sorted by age, the oldest first, then by name.
func byAge(channels []*channel) []*channel {
	return slices.SortedFunc(slices.Values(channels), func(a, b *channel) int {
		if order := a.Created.Compare(b.Created); order != 0 {
			return order
		}
		return CompareKeys(a.Key, b.Key)
	})
}
