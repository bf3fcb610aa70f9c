package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// byName returns members in the order of their names. What is compared lies side by side: to look for it in thousands of
// objects takes longer than to sort.
func byName(members []member) []*member {
	type entry struct {
		key types.NamespacedName
		of  *member
	}
	entries := make([]entry, len(members))
	for i := range members {
		entries[i] = entry{members[i].Key, &members[i]}
	}
	slices.SortFunc(entries, func(a, b entry) int { return CompareKeys(a.key, b.key) })
	sorted := make([]*member, len(entries))
	for i := range entries {
		sorted[i] = entries[i].of
	}
	return sorted
}

// byAge returns them with the oldest first, then by name, given that they are sorted by name.
func byAge(sorted []*member) []*member {
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
	aged := make([]*member, len(entries))
	for i := range entries {
		aged[i] = sorted[entries[i].rank]
	}
	return aged
}
