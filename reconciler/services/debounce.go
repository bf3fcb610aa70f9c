package services

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

// debouncer spaces the passes over a mux. The first change after a quiet time causes a pass at once. Later changes wait
// until none has come for a while, but at most twice as long. A provider reconfigures its load balancer for each write:
// after a burst of writes, further ones keep a distance.
//
//	changes   |   | | ||  |         |||||||||||||||||||||||||||||||||||
//	passes    ^             ^       ^     ^     ^     ^             ^            ^
//	          at once       quiet   at once, then in steps, then at a distance
type debouncer struct {
	quiet, longest time.Duration

	mu    sync.Mutex
	muxes map[types.NamespacedName]*recentChanges
}

// recentChanges are the recent changes of one mux.
type recentChanges struct {
	first, last time.Time // of the changes since the last pass; zero without changes
	acted       time.Time // the last pass
	writes      *rate.Limiter
}

// maxBurst is how many writes of a mux may follow each other closely.
const maxBurst = 10

func newDebouncer(quiet, longest time.Duration) *debouncer {
	return &debouncer{quiet: quiet, longest: longest, muxes: map[types.NamespacedName]*recentChanges{}}
}

// distance is the time between writes after a burst.
func (c *debouncer) distance() time.Duration { return c.longest / 2 }

func (c *debouncer) changed(mux types.NamespacedName, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.muxes[mux]
	if w == nil {
		w = &recentChanges{writes: rate.NewLimiter(rate.Every(c.distance()), maxBurst)}
		c.muxes[mux] = w
	}
	if w.first.IsZero() {
		w.first = now
	}
	w.last = now
}

func (c *debouncer) wrote(mux types.NamespacedName, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.muxes[mux]; w != nil {
		w.writes.ReserveN(now, 1)
	}
}

// wait returns how long a pass must wait. At zero the pass begins, and the changes so far count as handled.
func (c *debouncer) wait(mux types.NamespacedName, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.muxes[mux]
	if w == nil || w.first.IsZero() {
		return 0
	}
	wait := c.due(w, now).Sub(now)
	if wait > 0 && wait <= c.longest { // if it is more, the clock was set back
		return wait
	}
	w.first, w.last = time.Time{}, time.Time{}
	w.acted = now
	return 0
}

func (c *debouncer) due(w *recentChanges, now time.Time) time.Time {
	due := earlier(w.last.Add(c.quiet), w.first.Add(min(2*c.quiet, c.longest)))
	if alone := w.acted.Add(c.quiet); alone.Before(w.first) {
		due = w.first // the first change in a while
	}
	if missing := 1 - w.writes.TokensAt(now); missing > 0 {
		distant := earlier(now.Add(time.Duration(missing*float64(c.distance()))), w.first.Add(c.longest))
		if distant.After(due) {
			due = distant
		}
	}
	return due
}

func (c *debouncer) forget(mux types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.muxes, mux)
}
