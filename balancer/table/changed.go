package table

import (
	"maps"
	"slices"

	"nowake.ai/svc-lb-mux/balancer/want"
)

// memory is a copy of the tables that were applied last, because the caller may change its own tables.
type memory struct{ tables want.Tables }

// edit is how a list of services changed.
type edit struct {
	before, now []want.Service // those that differ
	// at has the indexes of the services that differ, if the list is as long as it was. Otherwise at is nil, and the
	// services that differ are neighbours, beginning at the index from.
	at   []int
	from int
}

// changed returns how the services differ, and true if few services differ and nothing else does. Most changes are of
// the backends of a few ports. Then the elements of thousands of other ports needn't be made and compared.
func (m *memory) changed(tables *want.Tables) (edit, bool) {
	if m == nil || !slices.Equal(m.tables.Addresses, tables.Addresses) {
		return edit{}, false
	}
	e := changedServices(m.tables.Services, tables.Services)
	return e, 2*len(e.now) <= len(tables.Services)
}

func changedServices(before, now []want.Service) edit {
	var e edit
	if len(before) == len(now) {
		for i := range now {
			if !equal(&before[i], &now[i]) {
				e.at, e.before, e.now = append(e.at, i), append(e.before, before[i]), append(e.now, now[i])
			}
		}
		return e
	}
	for len(before) > 0 && len(now) > 0 && equal(&before[0], &now[0]) {
		before, now = before[1:], now[1:]
		e.from++
	}
	for len(before) > 0 && len(now) > 0 && equal(&before[len(before)-1], &now[len(now)-1]) {
		before, now = before[:len(before)-1], now[:len(now)-1]
	}
	e.before, e.now = before, now
	return e
}

// equal is true for services with equal elements.
func equal(a, b *want.Service) bool {
	return a.First == b.First && a.Last == b.Last && a.Sticky == b.Sticky && a.Protocol == b.Protocol &&
		a.Address == b.Address &&
		slices.Equal(a.Slots, b.Slots) && slices.Equal(a.Sources, b.Sources)
}

// edit makes the edit in the copy.
func (m *memory) edit(e edit) {
	now := cloned(e.now)
	if e.at == nil {
		m.tables.Services = slices.Replace(m.tables.Services, e.from, e.from+len(e.before), now...)
		return
	}
	for i, at := range e.at {
		m.tables.Services[at] = now[i]
	}
}

func remembered(tables *want.Tables) *memory {
	return &memory{want.Tables{Addresses: slices.Clone(tables.Addresses), Services: cloned(tables.Services)}}
}

func cloned(services []want.Service) []want.Service {
	all := slices.Clone(services)
	for i := range all {
		all[i].Slots, all[i].Sources = slices.Clone(all[i].Slots), slices.Clone(all[i].Sources)
	}
	return all
}

// transition has the changes of each family, and the state that is known once the kernel has taken them.
type transition struct {
	changes []change
	have    []*state
	// edit is how the memory changes; if it is nil, the whole memory is replaced.
	edit *edit
}

// differ returns what must change.
func (k *Kernel) differ(tables *want.Tables) transition {
	var t transition
	e, few := k.last.changed(tables)
	if few {
		t.edit = &e
	}
	for i, f := range families() {
		var c change
		if few {
			c = f.differServices(k.have[i], tables, &e)
		} else {
			c = f.differ(k.have[i], tables)
		}
		t.changes, t.have = append(t.changes, c), append(t.have, c.after(k.have[i]))
	}
	return t
}

// remember records that the kernel took the tables.
func (k *Kernel) remember(t *transition, tables *want.Tables) {
	k.have = t.have
	if t.edit == nil {
		k.last = remembered(tables)
		return
	}
	k.last.edit(*t.edit)
}

// differServices returns what must change for services that changed. It changes the counts in the state before the
// kernel has taken the change: after a refusal, the state is forgotten anyway.
func (f family) differServices(have *state, tables *want.Tables, e *edit) change {
	c := change{remove: map[string][]place{}, add: map[string][]place{}, want: elements{}}
	before, now := f.servicesOf(e.before), f.servicesOf(e.now)
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
	touched := newUses()
	touched.count(before, here, 1)
	touched.count(now, here, 1)
	have.uses.addTo(old, touched, before, now)
	have.uses.count(before, here, -1)
	have.uses.count(now, here, 1)
	have.uses.addTo(c.want, touched, before, now)
	c.differChains(f, have, have.uses, maps.Keys(touched.choices))
	for _, set := range f.sets() {
		c.differ(set.name, old[set.name], c.want[set.name])
	}
	return c
}
