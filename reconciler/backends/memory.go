package backends

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// marks are what was seen in place, by the slice.
type marks = map[types.NamespacedName]muxslices.Mark

// memory is what was seen in place, by channel. A channel that has nothing is forgotten.
type memory struct {
	mu     sync.Mutex
	marks  map[types.NamespacedName]marks
	owners map[types.NamespacedName]types.NamespacedName // the channel of each slice
	muxes  map[types.NamespacedName]muxID                // the mux that a channel was last on
}

// muxID tells a mux from one that was made anew under its name.
type muxID struct {
	key types.NamespacedName
	uid types.UID
}

func newMemory() memory {
	return memory{marks: map[types.NamespacedName]marks{}, owners: map[types.NamespacedName]types.NamespacedName{},
		muxes: map[types.NamespacedName]muxID{}}
}

// channelOf returns the channel that a slice was in place for.
func (m *memory) channelOf(slice types.NamespacedName) (types.NamespacedName, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	channel, known := m.owners[slice]
	return channel, known
}

// lastMux returns the mux that a channel was on when it was last seen on one.
func (m *memory) lastMux(channel types.NamespacedName) (muxID, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.muxes[channel]
	return last, known
}

// setMux notes the mux that a channel is on; none if it has nothing on a mux any more.
func (m *memory) setMux(channel types.NamespacedName, mux muxID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.muxes[channel] = mux
	if mux.uid == "" {
		delete(m.muxes, channel)
	}
}

// of returns a channel's marks. They are never changed.
func (m *memory) of(channel types.NamespacedName) marks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.marks[channel]
}

// isAnothers is true for a slice that was in place for another channel, whatever its labels say now.
func (m *memory) isAnothers(slice, channel types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	owner, known := m.owners[slice]
	return known && owner != channel
}

func (m *memory) set(channel types.NamespacedName, now marks) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for slice := range m.marks[channel] {
		if m.owners[slice] == channel {
			delete(m.owners, slice)
		}
	}
	for slice := range now {
		m.owners[slice] = channel
	}
	m.marks[channel] = now
	if len(now) == 0 {
		delete(m.marks, channel)
	}
}

// strays remembers since when slices have been looking like nobody's.
type strays struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
	sweep time.Time
}

// wait says how much longer to wait before such a slice is deleted.
func (s *strays) wait(slice types.NamespacedName, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.sweep) { // not at each call, which would take time in the square of the number of slices
		s.sweep = now.Add(strayed)
		for other, since := range s.since {
			if now.Sub(since) > 2*strayed {
				delete(s.since, other)
			}
		}
	}
	if _, known := s.since[slice]; !known {
		s.since[slice] = now
	}
	return s.since[slice].Add(strayed).Sub(now)
}
