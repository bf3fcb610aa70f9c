package decide

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/static"
)

// deciding is a decision in the making.
type deciding struct {
	*World
	Decision
	pool *static.Pool
	// muxes are those of the pool by name, and order has them sorted by name.
	muxes map[types.NamespacedName]*Mux
	order []*Mux
	// reports are what live gateways report, by mux.
	reports map[types.UID][]reported
	// base are the claims before this pass, rebuilt ones included. next are those after it.
	base, next claims.Claims
	// targets are the addresses that each mux shall have. refusals are the conditions of muxes whose request is refused.
	targets  map[types.NamespacedName][]netip.Addr
	refusals map[types.NamespacedName]Condition
	// inNamespace counts the claims of each namespace, and length is the length of all claims, with those that this
	// pass adds.
	inNamespace map[string]int
	length      int
	// moving are muxes whose claim changes once their status doesn't show the former addresses any more.
	moving map[types.NamespacedName]bool
	// holderOf says in words which mux has an address; nil until holder fills it.
	holderOf map[netip.Addr]string
}

// reported is what one gateway reports about a mux.
type reported struct {
	gateway string
	holds   []uint8
	mux     lease.Mux
}

// Decide decides about a pool. If it needs live lists, it decides nothing else.
func Decide(w *World) Decision {
	d := &deciding{
		World: w, muxes: map[types.NamespacedName]*Mux{}, reports: map[types.UID][]reported{},
		targets: map[types.NamespacedName][]netip.Addr{}, refusals: map[types.NamespacedName]Condition{},
		moving: map[types.NamespacedName]bool{},
	}
	d.Decision.Missing = map[types.NamespacedName]time.Time{}
	d.index()
	d.alarms()
	if frozen := d.findBase(); frozen != (Condition{}) {
		return d.freeze(frozen)
	}
	if d.NeedsLive {
		return Decision{NeedsLive: true}
	}
	d.next = d.base
	d.placeSeats()
	d.adopt()
	d.chooseAddresses()
	d.claim()
	d.orphans()
	d.setSeats()
	d.next.Down, d.next.Pools = d.down(), d.Pools
	d.setAdverts()
	for _, m := range d.order {
		d.status(m)
	}
	d.finish()
	if d.NeedsLive && !d.IsLive {
		return Decision{NeedsLive: true}
	}
	return d.Decision
}

func (d *deciding) index() {
	for i := range d.World.Muxes {
		m := &d.World.Muxes[i]
		if m.IsMux {
			d.muxes[m.Key] = m
		}
	}
	d.order = slices.SortedFunc(maps.Values(d.muxes), func(a, b *Mux) int { return compareKeys(a.Key, b.Key) })
	for i := range d.Gateways {
		g := &d.Gateways[i]
		d.Figures.Gateways++
		if !g.IsLive {
			continue
		}
		d.Figures.Live++
		if g.Report == nil || !d.Pool.Gateways.Selects(g.Name, g.Labels) {
			continue
		}
		for _, m := range g.Report.Muxes {
			d.reports[m.UID] = append(d.reports[m.UID], reported{g.Name, g.Report.Holds, m})
		}
	}
}

// findBase finds the claims before this pass. If it can't, it returns a condition that says why.
func (d *deciding) findBase() Condition {
	switch {
	case d.Stored.Claims != nil:
		d.base = *d.Stored.Claims
	case d.Stored.Problem != "":
		return Condition{unknown, ClaimsUnreadable, d.Stored.Problem}
	case !d.IsLive:
		d.NeedsLive = true
	case !d.Stored.MayRebuild && slices.ContainsFunc(d.order, func(m *Mux) bool { return len(m.Shown) > 0 }):
		return Condition{unknown, ClaimsLost, textClaimsLost(d.Pool.Name)}
	case d.isListDoubtful():
		return Condition{unknown, ClaimsLost, textClaimsLost(d.Pool.Name)}
	default:
		d.base = d.rebuild()
	}
	return Condition{}
}

// isListDoubtful is true if the ConfigMap is lost, and the list has no mux, although gateways report that they carry
// some: the list is more probably wrong than right. The empty list is believed after graceOfAll graces, as for orphans.
func (d *deciding) isListDoubtful() bool {
	reports := func(g Gateway) bool {
		return g.Report != nil && slices.ContainsFunc(g.Report.Muxes, func(m lease.Mux) bool { return len(m.Programmed) > 0 })
	}
	if len(d.order) > 0 || !slices.ContainsFunc(d.Gateways, reports) {
		return false
	}
	since, known := d.World.Missing[types.NamespacedName{}]
	if !known || since.After(d.Now) {
		since = d.Now
	}
	due := since.Add(graceOfAll * d.Pool.Grace)
	if !d.Now.Before(due) {
		return false
	}
	d.Decision.Missing[types.NamespacedName{}] = since
	d.again(due)
	return true
}

// rebuild derives the claims from the muxes' statuses.
func (d *deciding) rebuild() claims.Claims {
	empty := claims.Claims{Pool: d.Pool.Name}
	for _, id := range d.Pool.RouterIDs {
		empty.Seats = append(empty.Seats, claims.Seat{RouterID: id})
	}
	rebuilt := claims.Rebuild(empty, services(d.order))
	rebuilt.Adverts = d.rebuiltAdverts()
	elsewhere := map[netip.Addr]bool{}
	for _, r := range d.Elsewhere {
		elsewhere[r.Address] = true
	}
	for i := range rebuilt.Muxes {
		rebuilt.Muxes[i].Addresses = slices.DeleteFunc(rebuilt.Muxes[i].Addresses, func(a netip.Addr) bool {
			return elsewhere[a]
		})
	}
	rebuilt.Muxes = slices.DeleteFunc(rebuilt.Muxes, func(m claims.Mux) bool { return len(m.Addresses) == 0 })
	return rebuilt
}

// finish counts the claims for the figures, and adds the claims to the writes if they changed.
func (d *deciding) finish() {
	for i := range d.next.Muxes {
		if d.next.Muxes[i].IsHeld() {
			d.Figures.Held++
			continue
		}
		d.Figures.Released++
	}
	d.Figures.Size = d.pool.Size(MaxSize)
	if d.Stored.Claims == nil || !equalClaims(*d.Stored.Claims, d.next) {
		next := d.next
		d.Claims = &next
	}
}

// freeze leaves claims and addresses as they are. Conditions say why.
func (d *deciding) freeze(why Condition) Decision {
	d.Figures.IsFrozen = true
	if len(d.Decision.Missing) == 0 {
		d.Decision.Missing = d.World.Missing
	}
	for _, m := range d.order {
		addressed := why
		if len(m.Shown) > 0 {
			addressed.Message = textKeeps(why.Message, m.Shown)
		}
		d.write(m, Status{Mux: m, Addressed: addressed, Carried: m.carried, CarriedBy: m.carriedBy})
	}
	return d.Decision
}

// again asks for another decision at a time.
func (d *deciding) again(at time.Time) {
	if d.Again.IsZero() || at.Before(d.Again) {
		d.Again = at
	}
}
