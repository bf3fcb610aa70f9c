package table

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// sender is a backend's address and protocol.
type sender struct {
	address  netip.Addr
	protocol corev1.Protocol
}

// replies are the ports from which backends answer. Services share backends, and the kernel takes no overlapping intervals: so
// the ports of a backend are merged.
type replies map[sender][]span

type span struct{ first, last uint16 }

func (r replies) add(address netip.Addr, protocol corev1.Protocol, first, last uint16) {
	from := sender{address, protocol}
	r[from] = append(r[from], span{first, last})
}

func (r replies) addTo(all elements) {
	for from, spans := range r {
		for _, s := range merged(spans) {
			all.add(setReplies, place{key(from.address, from.protocol, s.first), key(from.address, from.protocol, s.last)}, content{})
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
