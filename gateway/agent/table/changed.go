package table

import (
	"maps"
	"slices"

	"nowake.ai/svc-lb-mux/gateway/agent/want"
)

// memory is a copy of the tables that were applied last. The caller may change its own.
type memory struct{ tables want.Tables }

// pair are services that changed, as they were and as they must be.
type pair struct{ before, now []want.Service }

// changed returns the services that differ, and true if nothing else does. Most changes are of the backends of a few ports: then the
// elements of thousands of others needn't be made and compared.
func (m *memory) changed(tables *want.Tables) (pair, bool) {
	before, now := m.tables.Services, tables.Services
	if m.tables.Addresses == nil || !slices.Equal(m.tables.Addresses, tables.Addresses) {
		return pair{}, false
	}
	var p pair
	if len(before) == len(now) {
		for i := range now {
			if !equal(&before[i], &now[i]) {
				p.before, p.now = append(p.before, before[i]), append(p.now, now[i])
			}
		}
		return p, true
	}
	for len(before) > 0 && len(now) > 0 && equal(&before[0], &now[0]) {
		before, now = before[1:], now[1:]
	}
	for len(before) > 0 && len(now) > 0 && equal(&before[len(before)-1], &now[len(now)-1]) {
		before, now = before[:len(before)-1], now[:len(now)-1]
	}
	return pair{before, now}, true
}

// equal is true for services with equal elements.
func equal(a, b *want.Service) bool {
	return a.First == b.First && a.Last == b.Last && a.Sticky == b.Sticky && a.Protocol == b.Protocol && a.Address == b.Address &&
		slices.Equal(a.Slots, b.Slots) && slices.Equal(a.Sources, b.Sources)
}

// keep copies the tables. Services that didn't change keep their copies.
func (m *memory) keep(tables *want.Tables) {
	m.tables.Addresses = append([]want.Address{}, tables.Addresses...)
	sameLength := len(m.tables.Services) == len(tables.Services)
	if !sameLength {
		m.tables.Services = make([]want.Service, len(tables.Services))
	}
	for i := range tables.Services {
		s := &tables.Services[i]
		if sameLength && equal(&m.tables.Services[i], s) {
			continue
		}
		m.tables.Services[i] = *s
		m.tables.Services[i].Slots, m.tables.Services[i].Sources = slices.Clone(s.Slots), slices.Clone(s.Sources)
	}
}

// differ returns what must change in each family, and the states once the kernel has taken it.
func (k *Kernel) differ(tables *want.Tables) (next []*state, changes []change) {
	var p pair
	onlyServices := false
	if k.last != nil {
		p, onlyServices = k.last.changed(tables)
	}
	for i, f := range families() {
		var c change
		if onlyServices {
			c = f.differServices(k.have[i], tables, p)
		} else {
			c = f.differ(k.have[i], tables)
		}
		changes, next = append(changes, c), append(next, c.after(k.have[i]))
	}
	return next, changes
}

// remember records that the kernel took the tables.
func (k *Kernel) remember(next []*state, tables *want.Tables) {
	k.have = next
	if k.last == nil {
		k.last = &memory{}
	}
	k.last.keep(tables)
}

// differServices returns what must change for services that changed. It counts replies in the state at once: if the kernel refuses
// the change, the state is forgotten.
func (f family) differServices(have *state, tables *want.Tables, p pair) change {
	c := change{remove: map[string][]place{}, add: map[string][]place{}, want: elements{}}
	before, now := f.servicesOf(p.before), f.servicesOf(p.now)
	if len(before)+len(now) == 0 {
		return c
	}
	old, here := elements{}, returnsHere(tables)
	for i := range before {
		old.addService(&before[i])
	}
	for i := range now {
		c.want.addService(&now[i])
	}
	touched := replies{}
	touched.count(before, here, 1)
	touched.count(now, here, 1)
	have.replies.addTo(old, maps.Keys(touched))
	have.replies.count(before, here, -1)
	have.replies.count(now, here, 1)
	have.replies.addTo(c.want, maps.Keys(touched))
	c.addMissing(f.choiceChains(now), have)
	for _, set := range f.sets() {
		c.differ(set.name, old[set.name], c.want[set.name])
	}
	return c
}
