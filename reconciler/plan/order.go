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

// byAge returns channels sorted by age, the oldest first, then by name.
func byAge(channels []*channel) []*channel {
	return slices.SortedFunc(slices.Values(channels), func(a, b *channel) int {
		if order := a.Created.Compare(b.Created); order != 0 {
			return order
		}
		return CompareKeys(a.Key, b.Key)
	})
}
