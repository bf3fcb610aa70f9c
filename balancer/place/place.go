package place

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
)

// Gateway is a machine that can carry seats.
type Gateway struct {
	// Name is unique in the pool.
	Name string
	// Zone is the failure domain, such as a rack. Gateways without a zone share the empty one.
	Zone string
	// Capacity is the gateway's share of the load relative to other gateways. A gateway with capacity 0 or less takes no
	// seat: it is being drained.
	Capacity int
}

// Order returns the names of the gateways that can take a seat, the preferred one first. The key identifies the seat,
// such as "pool/7".
//
// The first gateway is the one with the highest score. The others alternate between zones: no zone comes a second time
// before every other zone came once. So the second gateway is in another zone than the first wherever there is another
// zone. If a gateway is listed twice, its first entry counts.
func Order(key string, gateways []Gateway) []string {
	ranked := rank(key, gateways)
	used := map[string]int{} // gateways that a zone has placed so far
	round := make(map[string]int, len(ranked))
	for _, g := range ranked {
		round[g.Name] = used[g.Zone]
		used[g.Zone]++
	}
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(round[a.Name], round[b.Name]) })
	names := make([]string, len(ranked))
	for i, g := range ranked {
		names[i] = g.Name
	}
	return names
}

// Seat returns the seat of an address. It returns false if there are no seats.
func Seat(address netip.Addr, seats []uint8) (uint8, bool) {
	key, best, found := address.Unmap().String(), uint8(0), false
	var highest float64
	for _, seat := range seats {
		score := score(key, strconv.Itoa(int(seat)), 1)
		if !found || score > highest || score == highest && seat < best {
			best, highest, found = seat, score, true
		}
	}
	return best, found
}

type scored struct {
	Gateway
	score float64
}

// rank returns the gateways by falling score, each once. Equal scores are ordered by name.
func rank(key string, gateways []Gateway) []scored {
	ranked := make([]scored, 0, len(gateways))
	seen := make(map[string]bool, len(gateways))
	for _, g := range gateways {
		if seen[g.Name] || g.Capacity <= 0 {
			continue
		}
		seen[g.Name] = true
		ranked = append(ranked, scored{g, score(key, g.Name, g.Capacity)})
	}
	slices.SortFunc(ranked, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Name, b.Name))
	})
	return ranked
}
