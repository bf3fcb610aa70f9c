package mux

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

// calm spaces the passes over a mux. A change after a quiet time is acted on at once; further ones wait until none has
// come for a while, but not much longer. A provider programs its load balancer anew for each write, so after some writes
// in a row, which a short burst may have, the next ones keep a distance.
//
//	changes   |   | | ||  |         |||||||||||||||||||||||||||||||||||
//	passes    ^             ^       ^     ^     ^     ^             ^            ^
//	          at once       quiet   at once, then in steps, then at a distance
type calm struct {
	quiet, longest time.Duration

	mu    sync.Mutex
	muxes map[types.NamespacedName]*waves
}

// waves are the changes about one mux.
type waves struct {
	first, last time.Time // of those not acted on yet; zero if there are none
	acted       time.Time
	writes      *rate.Limiter
}

// inARow is how many writes of a mux may follow each other closely.
const inARow = 10

func newCalm(quiet, longest time.Duration) *calm {
	return &calm{quiet: quiet, longest: longest, muxes: map[types.NamespacedName]*waves{}}
}

// distance is what writes keep that aren't the first in a row.
func (c *calm) distance() time.Duration { return c.longest / 2 }

// changed notes a change.
func (c *calm) changed(mux types.NamespacedName, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.muxes[mux]
	if w == nil {
		w = &waves{writes: rate.NewLimiter(rate.Every(c.distance()), inARow)}
		c.muxes[mux] = w
	}
	if w.first.IsZero() {
		w.first = now
	}
	w.last = now
}

// wrote notes a write of the mux.
func (c *calm) wrote(mux types.NamespacedName, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.muxes[mux]; w != nil {
		w.writes.ReserveN(now, 1)
	}
}

// wait says how long to wait before acting; if not at all, what was noted counts as acted on.
func (c *calm) wait(mux types.NamespacedName, now time.Time) time.Duration {
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

func (c *calm) due(w *waves, now time.Time) time.Time {
	due := earlier(w.last.Add(c.quiet), w.first.Add(min(2*c.quiet, c.longest)))
	if alone := w.acted.Add(c.quiet); alone.Before(w.first) {
		due = w.first // the first change in a while
	}
	if missing := 1 - w.writes.TokensAt(now); missing > 0 {
		distant := now.Add(time.Duration(missing * float64(c.distance())))
		due = later(due, earlier(distant, w.first.Add(c.longest)))
	}
	return due
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// forget drops a mux that is gone.
func (c *calm) forget(mux types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.muxes, mux)
}
