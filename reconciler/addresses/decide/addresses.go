package decide

import (
	"errors"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/static"
)

// adopt adds addresses that statuses show to the claims, the older mux first. Then it makes the pool from the claims.
func (d *deciding) adopt() {
	free := d.newPool(nil)
	for _, m := range slices.SortedFunc(slices.Values(d.order), compareAge) {
		d.adoptShown(m, free)
	}
	var held []pool.Holding
	for i := range d.base.Muxes {
		held = append(held, pool.Holding{Mux: d.base.Muxes[i].Key, Addresses: d.base.Muxes[i].Addresses})
	}
	d.pool = d.newPool(held)
	seats, gateways := d.next.Seats, d.next.Gateways
	d.next = d.base
	d.next.Seats, d.next.Gateways = seats, gateways
}

func (d *deciding) newPool(held []pool.Holding) *static.Pool {
	made := static.New(d.Pool.Name, d.Pool.Ranges, d.Pool.Excluded, held)
	for _, r := range d.Elsewhere {
		made.Reserve(r.Address, r.Holder)
	}
	for i := range d.Gateways {
		if facts := d.Gateways[i].Facts; facts != nil {
			for _, a := range facts.Addresses {
				made.Avoid(a, "gateway "+d.Gateways[i].Name)
			}
		}
	}
	return made
}

// adoptShown repairs the claims after an older copy of the ConfigMap was restored. It adds the addresses that a mux
// shows to the mux's claim. A status shows only addresses that were claimed: so if the claim lacks one, the status is
// newer than the ConfigMap. An address stays with another mux that claims and shows it. adoptShown needs live lists: a
// cache may still show an address that is hidden by now.
func (d *deciding) adoptShown(m *Mux, free *static.Pool) {
	claim, _ := d.base.Find(m.Key)
	keeps := slices.Clone(claim.Addresses)
	var adopted []netip.Addr
	for _, a := range m.Shown {
		sameFamily := func(b netip.Addr) bool { return a.Is4() == b.Is4() }
		if slices.Contains(claim.Addresses, a) || !free.IsFree(a) || slices.ContainsFunc(adopted, sameFamily) ||
			d.isClaimedAndShown(a) ||
			slices.ContainsFunc(keeps, func(b netip.Addr) bool { return sameFamily(b) && slices.Contains(m.Shown, b) }) {
			continue
		}
		keeps = slices.DeleteFunc(keeps, sameFamily)
		adopted = append(adopted, a)
	}
	switch {
	case len(adopted) == 0:
	case !d.IsLive:
		d.NeedsLive = true
	default:
		d.takeAway(adopted)
		d.base = d.base.Hold(claims.Mux{Key: m.Key, UID: m.UID, Addresses: append(keeps, adopted...)})
	}
}

// isClaimedAndShown is true if a mux has a claim on the address, and shows it.
func (d *deciding) isClaimedAndShown(a netip.Addr) bool {
	return slices.ContainsFunc(d.base.Muxes, func(claim claims.Mux) bool {
		m := d.muxes[claim.Key]
		return m != nil && slices.Contains(claim.Addresses, a) && slices.Contains(m.Shown, a)
	})
}

// takeAway removes addresses from the claims.
func (d *deciding) takeAway(addresses []netip.Addr) {
	d.base.Muxes = slices.Clone(d.base.Muxes)
	for i := range d.base.Muxes {
		m := &d.base.Muxes[i]
		m.Addresses = slices.DeleteFunc(slices.Clone(m.Addresses), func(a netip.Addr) bool {
			return slices.Contains(addresses, a)
		})
	}
	d.base.Muxes = slices.DeleteFunc(d.base.Muxes, func(m claims.Mux) bool { return len(m.Addresses) == 0 })
}

// chooseAddresses decides which addresses each mux shall have. Muxes with a claim come first. Of the others, those that
// ask for an address come before those that take any, and then the older mux comes first.
func (d *deciding) chooseAddresses() {
	d.count()
	rank := func(m *Mux) int {
		_, claimed := d.base.Find(m.Key)
		switch {
		case claimed:
			return 0
		case len(m.Settings.Wanted) > 0:
			return 1
		}
		return 2
	}
	for _, m := range slices.SortedFunc(slices.Values(d.order), func(a, b *Mux) int {
		if order := rank(a) - rank(b); order != 0 {
			return order
		}
		return compareAge(a, b)
	}) {
		d.choose(m)
	}
}

func (d *deciding) choose(m *Mux) {
	has, _ := d.base.Find(m.Key)
	d.targets[m.Key] = has.Addresses
	if len(m.Problems) > 0 {
		d.refuse(m, string(m.Problems[0].Reason), m.problem())
		return
	}
	families := m.families(d.pool.Has)
	for _, a := range has.Addresses { // if the pool lost a family, a mux keeps its address of that family
		if family := familyOf(a); slices.Contains(m.Service.Spec.IPFamilies, family) && !slices.Contains(families, family) {
			families = append(slices.Clone(families), family)
		}
	}
	if reason, message := d.limit(m, &has, families); reason != "" {
		d.refuse(m, reason, message)
		return
	}
	chosen, err := d.pool.Choose(pool.Request{Mux: m.Key, Families: families, Wanted: m.Settings.Wanted})
	var refusal *pool.Refusal
	switch {
	case errors.As(err, &refusal):
		d.refuse(m, string(refusal.Reason), refusal.Message)
	case err != nil:
		d.refuse(m, string(pool.Bad), err.Error())
	default:
		d.targets[m.Key] = slices.SortedFunc(slices.Values(chosen), netip.Addr.Compare)
		d.add(m, &has)
	}
}

// count counts the claims before this pass, those in their grace included.
func (d *deciding) count() {
	d.inNamespace, d.length = map[string]int{}, d.base.Length()
	for i := range d.base.Muxes {
		d.inNamespace[d.base.Muxes[i].Key.Namespace]++
	}
}

// limit returns why a mux can't have more addresses than it has. What a mux has stays.
func (d *deciding) limit(m *Mux, has *claims.Mux, families []corev1.IPFamily) (reason, message string) {
	isNew := has.Key != m.Key
	switch most := d.Pool.MuxesPerNamespace; {
	case isNew && d.inNamespace[m.Key.Namespace] >= most:
		return TooManyMuxes, textTooManyMuxes(m.Key.Namespace, d.Pool.Name, d.inNamespace[m.Key.Namespace], most)
	case d.length >= claims.MuxRoom && len(families) > len(has.Addresses):
		return ClaimsFull, textClaimsFull(d.Pool.Name, len(d.base.Muxes))
	}
	return "", ""
}

// add counts the claim that a mux gets.
func (d *deciding) add(m *Mux, has *claims.Mux) {
	if has.Key != m.Key {
		d.inNamespace[m.Key.Namespace]++
	} else {
		d.length -= has.Length()
	}
	gets := claims.Mux{Key: m.Key, UID: m.UID, Addresses: d.targets[m.Key]}
	d.length += gets.Length()
}

func (d *deciding) refuse(m *Mux, reason, message string) {
	if keeps := d.targets[m.Key]; len(keeps) > 0 {
		message = textKeeps(message, keeps)
	}
	d.refusals[m.Key] = Condition{no, reason, message}
}

// claim holds the chosen addresses. A mux that must lose an address keeps its claim until a live list shows a status
// without the address and with the reason Moving. The write of that reason changes the Service's version. So a former
// leader that doesn't know yet that it lost its lease can't show the address again: its write conflicts.
func (d *deciding) claim() {
	for _, m := range d.order {
		target := d.targets[m.Key]
		has, claimed := d.base.Find(m.Key)
		loses := func(a netip.Addr) bool { return !slices.Contains(target, a) }
		if slices.ContainsFunc(has.Addresses, loses) {
			isHidden := m.addressed.Reason == Moving &&
				!slices.ContainsFunc(m.Shown, func(a netip.Addr) bool { return slices.Contains(has.Addresses, a) && loses(a) })
			switch {
			case isHidden && !d.IsLive:
				d.NeedsLive = true
			case !isHidden:
				d.moving[m.Key] = true
				target = has.Addresses
			}
		}
		if claimed && has.IsHeld() && has.UID == m.UID && slices.Equal(has.Addresses, target) || len(target) == 0 {
			continue
		}
		d.next = d.next.Hold(claims.Mux{Key: m.Key, UID: m.UID, Addresses: target, Seat: has.Seat})
	}
}

func familyOf(a netip.Addr) corev1.IPFamily {
	if a.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}
