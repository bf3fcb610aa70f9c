package decide

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/reconciler/addresses/pool/config"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

// status decides what a mux says.
func (d *deciding) status(m *Mux) {
	claim, _ := d.next.Find(m.Key)
	set := Status{Mux: m, Addressed: d.addressed(m, &claim)}
	set.Addresses = d.shows(m)
	set.SetsAddresses = !m.isPlain || !sameAddresses(m.Shown, set.Addresses)
	set.Carried, set.CarriedBy = d.carriedBy(m, &claim)
	for _, a := range m.Shown {
		if holder := d.holder(a); holder != "" && holder != "mux "+m.Key.String() {
			set.Events = append(set.Events, Event{true, AddressReclaimed, textReclaimed(a, holder)})
		}
	}
	d.write(m, set)
}

// shows returns the addresses that the mux's status shows: those that it shows already and may keep, and those that are
// stored as its claim and programmed on enough live gateways.
func (d *deciding) shows(m *Mux) []netip.Addr {
	base, _ := d.base.Find(m.Key)
	isStored := false
	if d.Stored.Claims != nil {
		stored, found := d.Stored.Claims.Find(m.Key)
		isStored = found && stored.IsHeld() && stored.UID == m.UID && slices.Equal(stored.Addresses, base.Addresses)
	}
	var shows []netip.Addr
	for _, a := range d.targets[m.Key] {
		switch {
		case !slices.Contains(base.Addresses, a):
		case slices.Contains(m.Shown, a),
			isStored && len(d.programmed(m, []netip.Addr{a})) >= m.Settings.MinGateways:
			shows = append(shows, a)
		}
	}
	// The owner chose the order of the families.
	slices.SortStableFunc(shows, func(a, b netip.Addr) int {
		return slices.Index(m.Service.Spec.IPFamilies, familyOf(a)) - slices.Index(m.Service.Spec.IPFamilies, familyOf(b))
	})
	return shows
}

// programmed returns the live gateways whose kernel translates all these addresses for the mux, sorted.
func (d *deciding) programmed(m *Mux, addresses []netip.Addr) []string {
	var names []string
	for i := range d.reports[m.UID] {
		r := &d.reports[m.UID][i]
		if !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !slices.Contains(r.mux.Programmed, a) }) {
			names = append(names, r.gateway)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (d *deciding) addressed(m *Mux, claim *claims.Mux) Condition {
	if refused, is := d.refusals[m.Key]; is {
		return refused
	}
	if d.moving[m.Key] {
		return Condition{unknown, Moving, textMoving(claim.Addresses, d.targets[m.Key])}
	}
	return Condition{yes, Addressed, textAddressed(claim.Addresses, d.Pool.Name)}
}

// carriedBy decides the condition Carried, and which gateways answer for the addresses. While no gateway is live, the
// gateways that answered last are still named: a stale Lease proves nothing.
func (d *deciding) carriedBy(m *Mux, claim *claims.Mux) (Condition, string) {
	programmed := d.programmed(m, claim.Addresses)
	holders := d.holders(m, claim, programmed)
	refused, isWhole := d.refused(m)
	carries := strings.Join(holders, ",")
	switch {
	case len(claim.Addresses) == 0:
		return Condition{no, NotAddressed, "the mux has no address"}, ""
	case len(d.selected(false)) == 0:
		return Condition{no, NoGateway, textNoGateway(d.Pool.Name)}, ""
	case len(d.selected(true)) == 0:
		return Condition{unknown, StaleGateways, textStale(d.selected(false))}, m.carriedBy
	}
	if len(holders) == 0 && len(m.Shown) > 0 {
		d.Figures.Uncarried++
	}
	switch {
	case len(programmed) == 0 && isWhole:
		return Condition{no, Refused, refused}, ""
	case len(programmed) == 0:
		return Condition{no, NotProgrammed, textNotProgrammed(claim.Addresses)}, ""
	case len(programmed) < m.Settings.MinGateways:
		return Condition{no, TooFewGateways, textTooFew(programmed, m.Settings.MinGateways)}, carries
	case len(holders) == 0:
		return Condition{no, NotHeld, textNotHeld(claim.Seat, programmed)}, ""
	case refused != "":
		return Condition{yes, PartlyRefused, refused}, carries
	}
	return Condition{yes, Carried, textCarried(holders, programmed)}, carries
}

// holders returns the gateways that answer for the mux's addresses: those that hold its seat. Without announcements,
// every gateway that has programmed the addresses does.
func (d *deciding) holders(m *Mux, claim *claims.Mux, programmed []string) []string {
	if d.Pool.Announce == config.AnnounceNone {
		return programmed
	}
	var names []string
	for i := range d.reports[m.UID] {
		r := &d.reports[m.UID][i]
		if slices.Contains(programmed, r.gateway) && slices.Contains(r.holds, claim.Seat) {
			names = append(names, r.gateway)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refused returns the refusals of live gateways as one sentence, and true if one of these gateways has programmed no
// address of the mux.
func (d *deciding) refused(m *Mux) (string, bool) {
	var texts []string
	isWhole := false
	for i := range d.reports[m.UID] {
		r := &d.reports[m.UID][i]
		for _, refusal := range r.mux.Refused {
			isWhole = isWhole || len(r.mux.Programmed) == 0
			text := refusal.Message
			if refusal.Port != "" {
				text = fmt.Sprintf("port %s: %s", refusal.Port, text)
			}
			texts = append(texts, fmt.Sprintf("%s (%s on gateway %s)", text, refusal.Reason, r.gateway))
		}
		if more := r.mux.MoreRefused; more > 0 {
			texts = append(texts, fmt.Sprintf("%d more on gateway %s", more, r.gateway))
		}
	}
	slices.Sort(texts)
	const most = 4
	if len(texts) > most {
		texts = append(texts[:most], fmt.Sprintf("and %d more", len(texts)-most))
	}
	return strings.Join(texts, "; "), isWhole
}

// selected returns the names of the pool's gateways, or of the live ones among them.
func (d *deciding) selected(onlyLive bool) []string {
	var names []string
	for i := range d.Gateways {
		g := &d.Gateways[i]
		if d.Pool.Gateways.Selects(g.Name, g.Labels) && (g.IsLive || !onlyLive) {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return names
}

// holder returns in words which mux has an address; empty if none has it.
func (d *deciding) holder(a netip.Addr) string {
	if d.holderOf == nil {
		d.holderOf = map[netip.Addr]string{}
		for _, r := range d.Elsewhere {
			d.holderOf[r.Address] = r.Holder
		}
		for _, m := range d.next.Muxes {
			for _, a := range m.Addresses {
				d.holderOf[a] = "mux " + m.Key.String()
			}
		}
	}
	return d.holderOf[a]
}

// write adds a status to the writes, if anything changes.
func (d *deciding) write(m *Mux, set Status) {
	set.Events = append(set.Events, transitions(m, &set)...)
	if !set.SetsAddresses && set.Addressed == m.addressed && set.Carried == m.carried && set.CarriedBy == m.carriedBy &&
		!set.Clean {
		return
	}
	if set.SetsAddresses &&
		slices.ContainsFunc(m.Shown, func(a netip.Addr) bool { return !slices.Contains(set.Addresses, a) }) {
		d.Hide = append(d.Hide, set)
		return
	}
	d.Show = append(d.Show, set)
}

// transitions returns the Events of changed conditions. If only the message of a condition changed, there is no Event.
func transitions(m *Mux, set *Status) []Event {
	if set.Clean {
		return nil
	}
	var events []Event
	if c := set.Addressed; c.Status != m.addressed.Status || c.Reason != m.addressed.Reason {
		events = append(events, Event{c.Status != yes && c.Reason != Moving, c.Reason, c.Message})
	}
	before, c := m.carried, set.Carried
	switch changed := c.Status != before.Status || c.Reason != before.Reason; {
	case changed && (c.Reason == NotAddressed || c.Reason == NotProgrammed && before.Status != yes):
		// Addressed says it, or programming is under way
	case changed:
		events = append(events, Event{c.Status != yes || c.Reason == PartlyRefused, c.Reason, c.Message})
	case c.Status == yes && m.carriedBy != "" && m.carriedBy != set.CarriedBy:
		events = append(events, Event{false, CarriedByAnother, textCarriedByAnother(m.carriedBy, set.CarriedBy)})
	}
	return events
}

func services(muxes []*Mux) []*corev1.Service {
	var list []*corev1.Service
	for _, m := range muxes {
		list = append(list, m.Service)
	}
	return list
}
