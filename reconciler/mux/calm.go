package mux

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// calm spaces the passes over a mux. A change after a quiet time is acted on at once; further ones wait until none has
// come for a while, but no longer than is bearable: a provider programs its load balancer anew for each write.
//
//	changes   |   | | ||  |         |  |  |  |  |  |  |  |
//	passes    ^             ^       ^                 ^
//	          at once       quiet   at once           not longer
type calm struct {
	quiet, longest time.Duration

	mu    sync.Mutex
	muxes map[types.NamespacedName]*waves
}

// waves are the changes about one mux.
type waves struct {
	first, last time.Time // of those not acted on yet; zero if there are none
	acted       time.Time
}

func newCalm(quiet, longest time.Duration) *calm {
	return &calm{quiet: quiet, longest: longest, muxes: map[types.NamespacedName]*waves{}}
}

// changed notes a change.
func (c *calm) changed(mux types.NamespacedName, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.muxes[mux]
	if w == nil {
		w = &waves{}
		c.muxes[mux] = w
	}
	if w.first.IsZero() {
		w.first = now
	}
	w.last = now
}

// wait says how long to wait before acting; if not at all, what was noted counts as acted on.
func (c *calm) wait(mux types.NamespacedName, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.muxes[mux]
	if w == nil || w.first.IsZero() {
		return 0
	}
	due := w.last.Add(c.quiet)
	if bound := w.first.Add(c.longest); bound.Before(due) {
		due = bound
	}
	if alone := w.acted.Add(c.quiet); alone.Before(w.first) {
		due = w.first // the first change in a while
	}
	if wait := due.Sub(now); wait > 0 && wait <= c.longest { // if it is more, the clock was set back
		return wait
	}
	w.first, w.last = time.Time{}, time.Time{}
	w.acted = now
	return 0
}

// forget drops a mux that is gone.
func (c *calm) forget(mux types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.muxes, mux)
}
