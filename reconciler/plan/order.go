package plan

import "slices"

// byName returns channels sorted by namespace, then name.
func byName(channels []channel) []*channel {
	sorted := make([]*channel, len(channels))
	for i := range channels {
		sorted[i] = &channels[i]
	}
	slices.SortFunc(sorted, func(a, b *channel) int { return CompareKeys(a.Key, b.Key) })
	return sorted
}

// byAge sorts channels by age, the oldest first, then by name. Its input must be sorted by name.
func byAge(sorted []*channel) []*channel {
	aged := slices.Clone(sorted)
	slices.SortStableFunc(aged, func(a, b *channel) int { return a.Created.Compare(b.Created) })
	return aged
}
