package mux

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// memory is what the process remembers of one mux between passes.
type memory struct {
	// standing are the Events that were sent about lasting problems, and backendEvents those about first and last backends. A
	// pass finds the same edges again until the channel's status is written.
	standing, backendEvents sentEvents
	// refused are channels whose ports the API server refused. The API server refused to remove the address of a
	// channel in stuck, and to write the status of one in failing.
	refused map[types.NamespacedName]refusal
	// isolated counts refused channels in passes that follow each other.
	isolated int
	stuck    map[types.NamespacedName]setback
	failing  map[types.NamespacedName]setback
	blocked  block
	// notes is set while the API server refuses the annotations for people on the mux, and names while it refuses DNS
	// names.
	notes, names setback
	spending     budget.Spending
	// contested is until when the mux isn't corrected, because another writer keeps changing it.
	contested time.Time
	// met is true once the mux was read live.
	met bool
	// read caches the parsed channels.
	read map[types.NamespacedName]reading

	mu     sync.Mutex
	frozen string // why the last pass froze the mux
}

// refusal is the API server's refusal of a channel's ports, with a hash of the channel's request.
type refusal struct {
	setback
	plan.Refusal
	request uint64
}

// setback records when to retry a failed write. The pause grows each time.
type setback struct {
	until time.Time
	pause time.Duration
	// due is true in a pass that retries the write. If the write fails again, a new setback replaces this one.
	due bool
}

// The pauses after a write that failed.
const (
	firstPause   = 2 * time.Second
	longestPause = 5 * time.Minute
)

func (s setback) next(now time.Time) setback {
	pause := min(max(2*s.pause, firstPause), longestPause)
	return setback{until: now.Add(pause), pause: pause}
}

// reading is a channel at a resource version.
type reading struct {
	version string
	channel plan.ObservedChannel
}

func newMemory(limit budget.Limit) *memory {
	return &memory{
		spending: budget.New(limit),
		refused:  map[types.NamespacedName]refusal{},
		stuck:    map[types.NamespacedName]setback{},
		failing:  map[types.NamespacedName]setback{},
		read:     map[types.NamespacedName]reading{},
	}
}

// contestedUntil returns the same time at each pass, so that its Event is sent once.
func (m *memory) contestedUntil(until time.Time) time.Time {
	if until.Sub(m.contested).Abs() >= 100*time.Millisecond {
		m.contested = until
	}
	return m.contested
}

// keepOnly drops the memory of deleted channels.
func (m *memory) keepOnly(there func(types.NamespacedName) bool) {
	drop(m.refused, there)
	drop(m.stuck, there)
	drop(m.failing, there)
	drop(m.read, there)
}

func drop[V any](of map[types.NamespacedName]V, there func(types.NamespacedName) bool) {
	for key := range of {
		if !there(key) {
			delete(of, key)
		}
	}
}

// refusals returns the refusals in force. A refusal ends after its pause, when the channel's request changes, or once the mux has the
// numbers: the former leader may still have written them.
func (m *memory) refusals(w *plan.World) map[types.NamespacedName]plan.Refusal {
	refused, has := map[types.NamespacedName]plan.Refusal{}, map[plan.Slot]bool{}
	if w.Mux != nil {
		has = slotsOf(w.Mux.Ports, w.Mux.Ranges)
	}
	for i := range w.Channels {
		c := &w.Channels[i]
		no, known := m.refused[c.Key]
		if !known || !w.Now.Before(no.until) || no.request != hashRequest(c) {
			continue
		}
		if slices.ContainsFunc(no.Slots, func(slot plan.Slot) bool { return !has[slot] }) {
			refused[c.Key] = no.Refusal
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

// paused returns the channels that are still in a pause.
func paused(setbacks map[types.NamespacedName]setback, now time.Time) map[types.NamespacedName]bool {
	keys := map[types.NamespacedName]bool{}
	for key, s := range setbacks {
		if now.Before(s.until) {
			keys[key] = true
		}
	}
	return keys
}

// markDue marks the setbacks that are due as a pass begins. Later in the pass the clock doesn't count: if it were set
// back, a write that failed again would look as if it had been retried.
func (m *memory) markDue(now time.Time) {
	over := func(s setback) setback {
		if s.until.Sub(now) > s.pause { // the clock was set back
			s.until = now
		}
		s.due = !s.until.After(now)
		return s
	}
	for key, no := range m.refused {
		no.setback = over(no.setback)
		m.refused[key] = no
	}
	for key, s := range m.stuck {
		m.stuck[key] = over(s)
	}
	for key, s := range m.failing {
		m.failing[key] = over(s)
	}
	for _, s := range [...]*setback{&m.notes, &m.names} {
		if *s != (setback{}) {
			*s = over(*s)
		}
	}
}

// dropDue forgets the setbacks that were due, after a pass that wrote everything. A write that failed again in that pass
// has a new setback, which stays.
func (m *memory) dropDue() {
	m.isolated = 0
	maps.DeleteFunc(m.refused, func(_ types.NamespacedName, r refusal) bool { return r.due })
	maps.DeleteFunc(m.stuck, func(_ types.NamespacedName, s setback) bool { return s.due })
	maps.DeleteFunc(m.failing, func(_ types.NamespacedName, s setback) bool { return s.due })
	for _, s := range [...]*setback{&m.notes, &m.names} {
		if s.due {
			*s = setback{}
		}
	}
}

// nextTry returns when the first pause ends; zero without one. Due setbacks don't count: the next pass that may write
// retries them.
func (m *memory) nextTry() time.Time {
	next := m.blocked.until
	wait := func(s setback) {
		if !s.due {
			next = earlier(next, s.until)
		}
	}
	wait(m.notes)
	wait(m.names)
	for _, no := range m.refused {
		wait(no.setback)
	}
	for _, s := range m.stuck {
		wait(s)
	}
	for _, s := range m.failing {
		wait(s)
	}
	return next
}

// sentEvents are Events that were sent, and whose cause still exists.
type sentEvents map[plan.Event]bool

// unsent returns the Events that weren't sent yet. An Event that is missing from the list is forgotten, so that it counts
// as new later.
func (s *sentEvents) unsent(events []plan.Event) []plan.Event {
	var news []plan.Event
	said := make(sentEvents, len(events))
	for _, event := range events {
		if !(*s)[event] {
			news = append(news, event)
		}
		said[event] = true
	}
	*s = said
	return news
}

// setFrozen records why the mux is frozen, and returns why it was before.
func (m *memory) setFrozen(why string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.frozen
	m.frozen = why
	return before
}

func (m *memory) frozenBy() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.frozen
}
