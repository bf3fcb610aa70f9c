package faults

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Key is a kind of request for the counters.
type Key struct {
	Verb     string
	Resource string // Target of the request: "services/status", "leases.coordination.k8s.io"
	User     string
	DryRun   bool
}

func keyOf(r Request) Key {
	return Key{Verb: r.Verb, Resource: r.Target(), User: r.User, DryRun: r.DryRun}
}

// IsWrite returns whether requests of this kind change stored objects.
func (k Key) IsWrite() bool { return isWrite(k.Verb, k.Resource, k.DryRun) }

func (k Key) compare(other Key) int {
	return cmp.Or(
		cmp.Compare(k.Resource, other.Resource),
		cmp.Compare(k.Verb, other.Verb),
		cmp.Compare(k.User, other.User),
		cmp.Compare(fmt.Sprint(k.DryRun), fmt.Sprint(other.DryRun)),
	)
}

// Snapshot holds the number of requests of each kind. The caller may change it.
type Snapshot map[Key]int

// Sub returns the requests since an earlier snapshot. It leaves out kinds without a new request.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	since := Snapshot{}
	for key, count := range s {
		if more := count - earlier[key]; more != 0 {
			since[key] = more
		}
	}
	return since
}

// Where returns the kinds that keep accepts, for example Key.IsWrite.
func (s Snapshot) Where(keep func(Key) bool) Snapshot {
	kept := maps.Clone(s)
	maps.DeleteFunc(kept, func(key Key, _ int) bool { return !keep(key) })
	return kept
}

// Total returns the sum of all counts.
func (s Snapshot) Total() int {
	total := 0
	for _, count := range s {
		total += count
	}
	return total
}

// Keys returns the kinds, sorted by resource, verb and user.
func (s Snapshot) Keys() []Key {
	return slices.SortedFunc(maps.Keys(s), Key.compare)
}

// String returns a line per kind, in the order of Keys: count, verb, resource, user.
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
