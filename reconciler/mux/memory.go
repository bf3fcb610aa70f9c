package mux

import (
	"fmt"
	"hash/fnv"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// memory is what the process remembers of one mux between passes.
type memory struct {
	// standing are the Events that were sent about what stands, edges those about backends that came or went: as long as
	// a channel can't be told, each pass finds them anew.
	standing, edges sayings
	// refused are channels whose ports the API server didn't take; stuck those whose address it didn't take off, and
	// failing those that it didn't let us tell anything.
	refused map[types.NamespacedName]refusal
	// isolated counts channels that were refused in passes that followed each other.
	isolated int
	stuck    map[types.NamespacedName]setback
	failing  map[types.NamespacedName]setback
	// blocked is set while the API server doesn't take what is written for the whole mux.
	blocked block
	// notes is set while the API server doesn't take what is written for people, and names while it doesn't take DNS names.
	notes, names setback
	// spending is how often namespaces changed ports.
	spending spending
	// uncarried is since when channels have ready backends and none on the mux.
	uncarried map[types.NamespacedName]time.Time
	// contested is until when the mux isn't corrected, because another writer keeps changing it.
	contested time.Time
	// read are channels as they were read last.
	read map[types.NamespacedName]reading

	mu sync.Mutex
	// backing is whether channels have backends. Whoever hears of an edge takes it away.
	backing  map[types.NamespacedName]plan.Backing
	heard    int // how many edges there were
	families string
	frozen   string // what froze the mux when it was decided about last
}

// refusal is what the API server said of a channel's ports, and what the channel asked for then.
type refusal struct {
	setback
	plan.Refusal
	asked uint64
}

// setback is something to try again, later each time.
type setback struct {
	until time.Time
	pause time.Duration
	// due is true once a pass has begun that tries it: if it fails again, there is a new one.
	due bool
}

// The pauses after a write that failed.
const (
	firstPause   = 2 * time.Second
	longestPause = 5 * time.Minute
)

func (s setback) again(now time.Time) setback {
	pause := min(max(2*s.pause, firstPause), longestPause)
	return setback{until: now.Add(pause), pause: pause}
}

// reading is a channel at a resource version.
type reading struct {
	version string
	channel plan.ObservedChannel
}

func newMemory(budget Budget) *memory {
	return &memory{
		spending:  spending{Budget: budget, owed: map[string]time.Time{}},
		refused:   map[types.NamespacedName]refusal{},
		stuck:     map[types.NamespacedName]setback{},
		failing:   map[types.NamespacedName]setback{},
		read:      map[types.NamespacedName]reading{},
		backing:   map[types.NamespacedName]plan.Backing{},
		uncarried: map[types.NamespacedName]time.Time{},
	}
}

// contestedUntil returns the same point in time at each pass, so that it is told once.
func (m *memory) contestedUntil(until time.Time) time.Time {
	if until.Sub(m.contested).Abs() >= 100*time.Millisecond {
		m.contested = until
	}
	return m.contested
}

// keep drops what is remembered of channels that aren't there any more.
func (m *memory) keep(there func(types.NamespacedName) bool) {
	drop(m.refused, there)
	drop(m.stuck, there)
	drop(m.failing, there)
	drop(m.read, there)
	drop(m.uncarried, there)
	m.mu.Lock()
	defer m.mu.Unlock()
	drop(m.backing, there)
}

func drop[V any](of map[types.NamespacedName]V, there func(types.NamespacedName) bool) {
	for key := range of {
		if !there(key) {
			delete(of, key)
		}
	}
}

// backs looks up whether a channel has backends, or finds out.
func (m *memory) backs(channel types.NamespacedName, find func() plan.Backing) plan.Backing {
	m.mu.Lock()
	known, found := m.backing[channel]
	edges := m.heard
	m.mu.Unlock()
	if found {
		return known
	}
	now := find()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.heard == edges { // else it may have changed while it was found out, and the pass that follows looks again
		m.backing[channel] = now
	}
	return now
}

func (m *memory) edge(channel types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.backing, channel)
	m.heard++
}

// onFamilies forgets all backing if the mux's address families are others than before.
func (m *memory) onFamilies(families []corev1.IPFamily) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text := fmt.Sprint(families); text != m.families {
		m.families = text
		clear(m.backing)
	}
}

// refusals are those that still count: not those of channels that ask for something else now, or that were waited out.
func (m *memory) refusals(channels []plan.ObservedChannel, now time.Time) map[types.NamespacedName]plan.Refusal {
	refused := map[types.NamespacedName]plan.Refusal{}
	for i := range channels {
		c := &channels[i]
		if no, known := m.refused[c.Key]; known && now.Before(no.until) && no.asked == asks(c) {
			refused[c.Key] = no.Refusal
		}
	}
	return refused
}

// asks stands for what a channel asks for.
func asks(c *plan.ObservedChannel) uint64 {
	hash := fnv.New64a()
	fmt.Fprint(hash, c.UID, c.Ports)
	return hash.Sum64()
}

// waiting are the channels of a list of setbacks that aren't to be tried yet.
func waiting(setbacks map[types.NamespacedName]setback, now time.Time) map[types.NamespacedName]bool {
	keys := map[types.NamespacedName]bool{}
	for key, s := range setbacks {
		if now.Before(s.until) {
			keys[key] = true
		}
	}
	return keys
}

// begin notes which setbacks are over as a pass begins. The pass doesn't go by the clock for that once it is under way: were
// that set back meanwhile, what failed again would look as if it had been tried.
func (m *memory) begin(now time.Time) {
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

// tried is for a pass that wrote all that there was to write. It forgets the setbacks that were over when the pass began: what failed again in it has a new one.
func (m *memory) tried() {
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

// nextTry is when the first of all setbacks is over that isn't yet; zero if there are none. What is due is tried by the next pass that
// may write.
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

// sayings are Events that were sent, and not taken back since.
type sayings map[plan.Event]bool

// news are those Events that weren't sent yet; those that aren't among them any more are news when they come back.
func (s *sayings) news(events []plan.Event) []plan.Event {
	var news []plan.Event
	said := make(sayings, len(events))
	for _, event := range events {
		if !(*s)[event] {
			news = append(news, event)
		}
		said[event] = true
	}
	*s = said
	return news
}

// setFrozen notes what freezes the mux now, and returns what did before.
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
