package faults

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Key is a kind of request that is counted.
type Key struct {
	Verb     string
	Resource string // a Request's Target: "services/status", "leases.coordination.k8s.io"
	User     string
	DryRun   bool
}

func keyOf(r Request) Key {
	return Key{Verb: r.Verb, Resource: r.Target(), User: r.User, DryRun: r.DryRun}
}

// IsWrite says whether requests of this kind change what is stored.
func (k Key) IsWrite() bool { return isWrite(k.Verb, k.Resource, k.DryRun) }

func (k Key) compare(other Key) int {
	return cmp.Or(
		cmp.Compare(k.Resource, other.Resource),
		cmp.Compare(k.Verb, other.Verb),
		cmp.Compare(k.User, other.User),
		cmp.Compare(fmt.Sprint(k.DryRun), fmt.Sprint(other.DryRun)),
	)
}

// Snapshot says how many requests of each kind there were. It is the caller's own.
type Snapshot map[Key]int

// Sub is what has come since an earlier snapshot. Kinds that have had none are left out.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	since := Snapshot{}
	for key, count := range s {
		if more := count - earlier[key]; more != 0 {
			since[key] = more
		}
	}
	return since
}

// Where keeps the kinds for which keep says so. Key.IsWrite is a useful one.
func (s Snapshot) Where(keep func(Key) bool) Snapshot {
	kept := maps.Clone(s)
	maps.DeleteFunc(kept, func(key Key, _ int) bool { return !keep(key) })
	return kept
}

// Total is the sum of all counts.
func (s Snapshot) Total() int {
	total := 0
	for _, count := range s {
		total += count
	}
	return total
}

// Keys are sorted by resource, verb and user.
func (s Snapshot) Keys() []Key {
	return slices.SortedFunc(maps.Keys(s), Key.compare)
}

// String is a line per kind, in the order of Keys: count, verb, resource, user.
func (s Snapshot) String() string {
	if len(s) == 0 {
		return "no requests\n"
	}
	var lines strings.Builder
	for _, key := range s.Keys() {
		verb := key.Verb
		if key.DryRun {
			verb += " (dry run)"
		}
		fmt.Fprintf(&lines, "%7d  %-18s %-40s %s\n", s[key], verb, key.Resource, key.User)
	}
	return lines.String()
}
