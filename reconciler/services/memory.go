package services

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// memory is what the process remembers of one mux between passes.
type memory struct {
	// standing are the Events that were sent about lasting problems, and backendEvents those about the first and the last
	// backend of a channel. Each pass decides the same Events again: those about backends until the channel's status is
	// written.
	standing, backendEvents sentEvents
	setbacks                setbacks
	// refused are channels whose ports the API server refused, as long as their setbacks last.
	refused map[types.NamespacedName]refused
	// isolated counts how often isolate found a channel since the last pass that wrote everything.
	isolated int
	blocked  block
	spending budget.Spending
	// contested is the time until which the mux isn't corrected, because another writer keeps changing it.
	contested time.Time
	// met is true once the mux was read live.
	met bool
	// read caches the parsed channels.
	read map[types.NamespacedName]reading
	// there has the keys of the mux, and of the channels and listeners of the last pass.
	there map[types.NamespacedName]bool

	frozen atomic.Value // a string: why the last pass froze the mux
}

// refused is the API server's refusal of a channel's ports, with a hash of the channel's request.
type refused struct {
	plan.PatchRefusal
	request uint64
}

// reading is a channel at a resource version.
type reading struct {
	version string
	channel plan.ObservedChannel
}

func newMemory(limit budget.Limit) *memory {
	return &memory{
		spending: budget.New(limit),
		setbacks: setbacks{},
		refused:  map[types.NamespacedName]refused{},
		read:     map[types.NamespacedName]reading{},
	}
}

// contestedUntil returns the same time in each pass of one wait, even if the clock's readings differ a little, so that
// the wait's Event is sent once.
func (m *memory) contestedUntil(until time.Time) time.Time {
	if until.Sub(m.contested).Abs() >= 100*time.Millisecond {
		m.contested = until
	}
	return m.contested
}

// keepOnly drops the memory of channels that are deleted or have left the mux.
func (m *memory) keepOnly(there func(types.NamespacedName) bool) {
	maps.DeleteFunc(m.setbacks, func(w write, _ setback) bool { return w.channel.Name != "" && !there(w.channel) })
	maps.DeleteFunc(m.refused, func(key types.NamespacedName, _ refused) bool { return !there(key) })
	maps.DeleteFunc(m.read, func(key types.NamespacedName, _ reading) bool { return !there(key) })
}

// dropDue ends the setbacks that were due, after a pass that wrote everything.
func (m *memory) dropDue() {
	m.isolated = 0
	m.setbacks.dropDue()
	maps.DeleteFunc(m.refused, func(key types.NamespacedName, _ refused) bool {
		_, lasts := m.setbacks[write{itsPorts, key}]
		return !lasts
	})
}

// refusals returns the refusals in force. A refusal ends after its pause, when the channel's request changes, or once
// the mux has the numbers: the former leader may still have written them.
func (m *memory) refusals(w *plan.World) map[types.NamespacedName]plan.PatchRefusal {
	refused, has := map[types.NamespacedName]plan.PatchRefusal{}, map[plan.Slot]bool{}
	if w.Mux != nil {
		has = slotsOf(w.Mux.Ports, w.Mux.Ranges)
	}
	for i := range w.Channels {
		c := &w.Channels[i]
		no, known := m.refused[c.Key]
		if !known || !w.Now.Before(m.setbacks[write{itsPorts, c.Key}].until) || no.request != hashRequest(c) {
			continue
		}
		if slices.ContainsFunc(no.Slots, func(slot plan.Slot) bool { return !has[slot] }) {
			refused[c.Key] = no.PatchRefusal
		}
	}
	return refused
}

// hashRequest hashes the request of a channel.
func hashRequest(c *plan.ObservedChannel) uint64 {
	hash := fnv.New64a()
	fmt.Fprint(hash, c.UID, c.Ports)
	return hash.Sum64()
}

// sentEvents are Events that were sent, and whose cause still exists.
type sentEvents struct{ sets.Set[plan.Event] }

// unsent returns the Events that weren't sent yet. An Event that is missing from the list is forgotten, so that it
// counts as new later.
func (s *sentEvents) unsent(events []plan.Event) []plan.Event {
	news := slices.DeleteFunc(slices.Clone(events), s.Has)
	s.Set = sets.New(events...)
	return news
}

func (m *memory) frozenBy() string {
	why, _ := m.frozen.Load().(string)
	return why
}
