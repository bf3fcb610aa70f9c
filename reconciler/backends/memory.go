package backends

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// marks are what was seen in place, by the slice.
type marks = map[types.NamespacedName]plan.Mark

// memory is what was seen in place, by channel. A channel that has nothing is forgotten.
type memory struct {
	mu     sync.Mutex
	marks  map[types.NamespacedName]marks
	owners map[types.NamespacedName]types.NamespacedName // the channel of each slice
}

func newMemory() memory {
	return memory{marks: map[types.NamespacedName]marks{}, owners: map[types.NamespacedName]types.NamespacedName{}}
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
}

// wait says how much longer to wait before such a slice is deleted.
func (s *strays) wait(slice types.NamespacedName, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, since := range s.since {
		if now.Sub(since) > 2*strayed {
			delete(s.since, other)
		}
	}
	if _, known := s.since[slice]; !known {
		s.since[slice] = now
	}
	return s.since[slice].Add(strayed).Sub(now)
}
