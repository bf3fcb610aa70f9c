package faults

import (
	"context"
	"fmt"
	"sync"
)

// Handle lets a test observe and remove a rule.
type Handle struct {
	name    string
	ending  func()        // called before the rule ends
	removed chan struct{} // closed by Remove
	forget  func()        // removes the rule from its list

	mu   sync.Mutex
	seen int // number of matching requests
	hits int // number of requests on which the rule acted
	hit  signal
	once sync.Once
}

func newHandle(name string) *Handle {
	return &Handle{name: name, ending: func() {}, removed: make(chan struct{}), forget: func() {}}
}

// Hits returns how often the rule has acted so far: on requests or, for rules about watches, on events.
func (h *Handle) Hits() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hits
}

// Wait waits until the rule has acted n times. A request that is still being delayed counts.
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

// Remove ends the rule, and releases the requests that it holds. Further calls do nothing.
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

// take counts a match, and returns whether the rule acts on it: it skips the first matches, and then acts the given
// number of times.
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

// Hold is the handle of a rule that holds requests or events until it is released.
type Hold struct {
	*Handle
}

// Release releases them in the order of arrival. Further calls do nothing.
func (h *Hold) Release() { h.Remove() }
