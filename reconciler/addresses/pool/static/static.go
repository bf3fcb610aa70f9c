package static

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool"
)

// Pool hands out addresses of ranges. It isn't safe for concurrent use.
type Pool struct {
	name             string
	ranges, excluded claims.Ranges
	// taken names the holder of each taken address in words, for messages.
	taken map[netip.Addr]string
	// avoided names in words who says that an address is theirs, for messages.
	avoided map[netip.Addr]string
	has     map[types.NamespacedName][]netip.Addr
}

var _ pool.Pool = (*Pool)(nil)

// New makes a pool. held is what the claims say. If an address has two holders, the first holder counts.
func New(name string, ranges, excluded claims.Ranges, held []pool.Holding) *Pool {
	p := &Pool{name: name, ranges: ranges, excluded: excluded, taken: map[netip.Addr]string{},
		avoided: map[netip.Addr]string{},
		has:     map[types.NamespacedName][]netip.Addr{}}
	for _, h := range held {
		for _, a := range h.Addresses {
			p.give(a, h.Mux)
		}
	}
	return p
}

func (p *Pool) give(a netip.Addr, mux types.NamespacedName) {
	if _, taken := p.taken[a]; !taken {
		p.taken[a] = "mux " + mux.String()
		p.has[mux] = append(p.has[mux], a)
	}
}

// Reserve keeps an address from being handed out, unless a mux has it already. The holder is named in messages, such as
// "mux edge/web of pool q".
func (p *Pool) Reserve(a netip.Addr, holder string) {
	if _, taken := p.taken[a]; !taken {
		p.taken[a] = holder
	}
}

// Avoid hands an address out last, and to no mux that asks for it by name. The word of one machine must not make a pool
// full. The holder is named in messages, such as "gateway a".
func (p *Pool) Avoid(a netip.Addr, holder string) {
	if p.avoided[a] == "" {
		p.avoided[a] = holder
	}
}

// Size is how many addresses the pool has, at most the given number.
func (p *Pool) Size(most int) int {
	size := 0
	for _, r := range p.ranges {
		for a := p.behindExcluded(r.First); r.Contains(a) && size < most; a = p.behindExcluded(a.Next()) {
			size++
		}
	}
	return size
}

// behindExcluded returns the first address from a on that isn't excluded. It is invalid if every address is excluded.
func (p *Pool) behindExcluded(a netip.Addr) netip.Addr {
	for {
		at := slices.IndexFunc(p.excluded, func(r claims.Range) bool { return r.Contains(a) })
		if at < 0 {
			return a
		}
		a = p.excluded[at].Last.Next()
	}
}

// Has is true if the pool has a range of the family.
func (p *Pool) Has(family corev1.IPFamily) bool {
	return slices.ContainsFunc(p.ranges, func(r claims.Range) bool { return isOf(family, r.First) })
}

// IsFree is true if the pool may hand out an address now.
func (p *Pool) IsFree(a netip.Addr) bool {
	_, taken := p.taken[a]
	return !taken && p.ranges.Contains(a) && !p.excluded.Contains(a)
}

// Ensure is Choose: static addresses need no calls.
func (p *Pool) Ensure(_ context.Context, request pool.Request) ([]netip.Addr, error) {
	return p.Choose(request)
}

// Choose returns the mux's addresses in the order of the families. It takes all or none.
func (p *Pool) Choose(request pool.Request) ([]netip.Addr, error) {
	var addresses []netip.Addr
	for _, family := range request.Families {
		address, err := p.choose(family, &request)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	for _, a := range addresses {
		p.give(a, request.Mux)
	}
	return addresses, nil
}

// choose returns the wanted address of a family, or the one that the mux has, or the lowest free one in range order.
// Avoided ones come last.
func (p *Pool) choose(family corev1.IPFamily, request *pool.Request) (netip.Addr, error) {
	for _, wanted := range request.Wanted {
		if isOf(family, wanted) {
			return wanted, p.mayHave(wanted, request.Mux)
		}
	}
	for _, a := range p.has[request.Mux] {
		if isOf(family, a) {
			return a, nil // also outside of the ranges: a changed pool moves no mux
		}
	}
	var last netip.Addr // the first avoided one
	for _, r := range p.ranges {
		for a := p.behindExcluded(r.First); isOf(family, a) && r.Contains(a); a = p.behindExcluded(a.Next()) {
			if _, taken := p.taken[a]; taken {
				continue
			}
			if p.avoided[a] == "" {
				return a, nil
			}
			if !last.IsValid() {
				last = a
			}
		}
	}
	if last.IsValid() {
		return last, nil
	}
	return netip.Addr{}, refuse(pool.Full,
		"pool %s has no free %s address for mux %s: add addresses to the pool, or delete a mux",
		p.name, family, request.Mux)
}

func (p *Pool) mayHave(wanted netip.Addr, mux types.NamespacedName) error {
	holder := cmp.Or(p.taken[wanted], p.avoided[wanted])
	switch {
	case slices.Contains(p.has[mux], wanted):
		return nil
	case holder != "":
		return refuse(pool.Taken, "address %s is taken by %s: ask for another one, or for none", wanted, holder)
	case !p.ranges.Contains(wanted):
		return refuse(pool.Outside, "address %s isn't in pool %s: ask for another one, or for none", wanted, p.name)
	case p.excluded.Contains(wanted):
		return refuse(pool.Outside, "address %s is excluded from pool %s: ask for another one, or for none", wanted, p.name)
	}
	return nil
}

// Release frees the mux's addresses.
func (p *Pool) Release(_ context.Context, mux types.NamespacedName) error {
	for _, a := range p.has[mux] {
		delete(p.taken, a)
	}
	delete(p.has, mux)
	return nil
}

// List returns the addresses that muxes have.
func (p *Pool) List(context.Context) ([]pool.Holding, error) {
	var list []pool.Holding
	for mux, addresses := range p.has {
		list = append(list, pool.Holding{Mux: mux,
			Addresses: slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare)})
	}
	slices.SortFunc(list, func(a, b pool.Holding) int { return strings.Compare(a.Mux.String(), b.Mux.String()) })
	return list, nil
}

// Expose does nothing: gateways announce static addresses themselves.
func (p *Pool) Expose(context.Context, netip.Addr, string) error { return nil }

func refuse(reason pool.Reason, format string, args ...any) *pool.Refusal {
	return &pool.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func isOf(family corev1.IPFamily, a netip.Addr) bool {
	return a.Is4() == (family == corev1.IPv4Protocol)
}
