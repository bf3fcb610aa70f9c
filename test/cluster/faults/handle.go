package faults

import (
	"context"
	"fmt"
	"sync"
)

// Handle is what a test keeps of a rule that it has added.
type Handle struct {
	name    string
	ending  func()        // what must come before the end
	removed chan struct{} // closed by Remove
	forget  func()        // takes the rule off its list

	mu   sync.Mutex
	seen int // requests that matched
	hits int // those on which the rule acted
	hit  signal
	once sync.Once
}

func newHandle(name string) *Handle {
	return &Handle{name: name, ending: func() {}, removed: make(chan struct{}), forget: func() {}}
}

// Hits says how often the rule has acted so far: on requests, or, where it is about watches, on events.
func (h *Handle) Hits() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hits
}

// Wait returns when the rule has acted n times. Acted means begun: a request that is being delayed counts.
func (h *Handle) Wait(ctx context.Context, n int) error {
	for {
		h.mu.Lock()
		hits, changed := h.hits, h.hit.next()
		h.mu.Unlock()
		if hits >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("rule %q has acted %d of %d times: %w", h.name, hits, n, context.Cause(ctx))
		}
	}
}

// Remove ends the rule. What it holds goes on its way. It may be called more than once.
func (h *Handle) Remove() {
	h.once.Do(func() {
		h.ending()
		close(h.removed)
		h.forget()
	})
}

func (h *Handle) isRemoved() bool {
	select {
	case <-h.removed:
		return true
	default:
		return false
	}
}

// take counts one more match and says whether the rule acts on it: after the first skip ones, and times times.
func (h *Handle) take(skip, times int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isRemoved() {
		return false
	}
	h.seen++
	if h.seen <= skip || times > 0 && h.hits >= times {
		return false
	}
	h.hits++
	h.hit.fire()
	return true
}

// Hold is the handle of something that is held back until it is released.
type Hold struct {
	*Handle
}

// Release lets go, in the order of arrival. It may be called more than once.
func (h *Hold) Release() { h.Remove() }
