package static

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/gateway/pool"
)

// Pool hands out addresses of ranges. It isn't safe for concurrent use.
type Pool struct {
	name             string
	ranges, excluded []Range
	taken            map[netip.Addr]types.NamespacedName
}

var _ pool.Pool = (*Pool)(nil)

// New makes a pool. Held is what the claims say: of an address with two holders, the first one counts.
func New(name string, ranges, excluded []Range, held []pool.Holding) *Pool {
	p := &Pool{name: name, ranges: ranges, excluded: excluded, taken: map[netip.Addr]types.NamespacedName{}}
	for _, h := range held {
		for _, a := range h.Addresses {
			if _, twice := p.taken[a]; !twice {
				p.taken[a] = h.Mux
			}
		}
	}
	return p
}

// Ensure returns the mux's addresses in the order of the families. It takes all or none.
func (p *Pool) Ensure(_ context.Context, request pool.Request) ([]netip.Addr, error) {
	var addresses []netip.Addr
	for _, family := range request.Families {
		address, err := p.choose(family, &request)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	for _, a := range addresses {
		p.taken[a] = request.Mux
	}
	return addresses, nil
}

// choose returns the wanted address of a family, or the one that the mux has, or the lowest free one in range order.
func (p *Pool) choose(family corev1.IPFamily, request *pool.Request) (netip.Addr, error) {
	for _, wanted := range request.Wanted {
		if isOf(family, wanted) {
			return wanted, p.mayHave(wanted, request.Mux)
		}
	}
	for _, a := range p.of(request.Mux) {
		if isOf(family, a) {
			return a, nil // also outside of the ranges: a changed pool moves no mux
		}
	}
	for _, r := range p.ranges {
		for a := r.First; isOf(family, a) && r.contains(a); a = a.Next() {
			if _, taken := p.taken[a]; !taken && !in(p.excluded, a) {
				return a, nil
			}
		}
	}
	return netip.Addr{}, refuse(pool.Full, "pool %s has no free %s address for mux %s: add addresses to the pool, or delete a mux",
		p.name, family, request.Mux)
}

func (p *Pool) mayHave(wanted netip.Addr, mux types.NamespacedName) error {
	holder, taken := p.taken[wanted]
	switch {
	case taken && holder == mux:
		return nil
	case taken:
		return refuse(pool.Taken, "address %s is taken by mux %s: ask for another one, or for none", wanted, holder)
	case !in(p.ranges, wanted):
		return refuse(pool.Outside, "address %s isn't in pool %s: ask for another one, or for none", wanted, p.name)
	case in(p.excluded, wanted):
		return refuse(pool.Outside, "address %s is excluded from pool %s: ask for another one, or for none", wanted, p.name)
	}
	return nil
}

// Release frees the mux's addresses.
func (p *Pool) Release(_ context.Context, mux types.NamespacedName) error {
	for _, a := range p.of(mux) {
		delete(p.taken, a)
	}
	return nil
}

// List returns what is handed out.
func (p *Pool) List(context.Context) ([]pool.Holding, error) {
	var muxes []types.NamespacedName
	for _, mux := range p.taken {
		muxes = append(muxes, mux)
	}
	slices.SortFunc(muxes, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	var list []pool.Holding
	for _, mux := range slices.Compact(muxes) {
		list = append(list, pool.Holding{Mux: mux, Addresses: p.of(mux)})
	}
	return list, nil
}

// Expose does nothing: gateways announce static addresses themselves.
func (p *Pool) Expose(context.Context, netip.Addr, string) error { return nil }

func (p *Pool) of(mux types.NamespacedName) []netip.Addr {
	var addresses []netip.Addr
	for a, holder := range p.taken {
		if holder == mux {
			addresses = append(addresses, a)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses
}

func isOf(family corev1.IPFamily, a netip.Addr) bool {
	return a.Is4() == (family == corev1.IPv4Protocol)
}

func in(ranges []Range, a netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return r.contains(a) })
}
