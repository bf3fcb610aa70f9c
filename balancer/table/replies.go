package table

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// sender is a backend's address and protocol.
type sender struct {
	address  netip.Addr
	protocol corev1.Protocol
}

// replies are the ports from which backends answer, with the number of slots that need each. Services share backends,
// and the kernel takes no overlapping intervals: so the ports of a backend are merged.
type replies map[sender]map[span]int

type span struct{ first, last uint16 }

// count adds the slots of services to the counts, or subtracts them if by is -1. It skips services whose backends don't
// answer to the mux's address: no reply of theirs reaches this machine untranslated.
func (r replies) count(services []want.Service, returnsHere map[netip.Addr]bool, by int) {
	for i := range services {
		s := &services[i]
		if !returnsHere[s.Address] {
			continue
		}
		for _, b := range s.Slots {
			from, ports := sender{b.Address, s.Protocol}, span{b.Port, b.Port + min(s.Last-s.First, 1<<16-1-b.Port)}
			if r[from] == nil {
				r[from] = map[span]int{}
			}
			if add(r[from], ports, by); len(r[from]) == 0 {
				delete(r, from)
			}
		}
	}
}

// addTo adds the elements of some senders.
func (r replies) addTo(all elements, senders iter.Seq[sender]) {
	for from := range senders {
		for _, s := range merged(slices.Collect(maps.Keys(r[from]))) {
			all.add(setReplies, place{key(from.address, from.protocol, s.first), key(from.address, from.protocol, s.last)},
				content{})
		}
	}
}

// merged returns the same numbers as spans that don't overlap.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	var all []span
	for _, s := range spans {
		if n := len(all); n > 0 && s.first <= all[n-1].last {
			all[n-1].last = max(all[n-1].last, s.last)
			continue
		}
		all = append(all, s)
	}
	return all
}
