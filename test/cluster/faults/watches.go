package faults

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// watches holds the open watch streams, and the rules that hold events back. Its mutex guards the streams' queues, too.
type watches struct {
	mu      sync.Mutex
	streams map[*stream]struct{}
	rules   []*watchRule
}

// watchRule holds events back for its delay or, if that is 0, until the rule is removed.
type watchRule struct {
	match  Match
	delay  time.Duration
	handle *Handle
}

// HoldWatches holds all events of matching watches, present and future, including bookmarks and initial events, until
// the Hold is released. The client sees an idle stream. Hits counts events that arrived meanwhile, so a test can wait
// until an event that its client must not see has arrived. Lists aren't held: a client that starts now isn't stale,
// unless it lists by watching.
func (p *Proxy) HoldWatches(match Match) *Hold {
	return &Hold{Handle: p.watches.add(match, 0, newHandle("hold watches"))}
}

// DelayWatches delivers each event of matching watches, present and future, after a delay.
func (p *Proxy) DelayWatches(match Match, d time.Duration) *Handle {
	return p.watches.add(match, max(d, time.Nanosecond), newHandle("delay watches"))
}

// BreakWatches cuts the matching open streams between two events, as a lost connection does, and returns their number.
// Held events of them are lost, and the client requests them again.
func (p *Proxy) BreakWatches(match Match) int {
	return p.watches.end(match, func(s *stream) { s.cut(errDropped, nil) })
}

// ExpireWatches ends the matching open streams with the API server's "410 Expired", and returns their number. Their
// clients must list again. To refuse future watches, use Answer(410).
func (p *Proxy) ExpireWatches(match Match) int {
	return p.watches.end(match, (*stream).expire)
}

// Watches returns the open watch streams, sorted.
func (p *Proxy) Watches() []Request {
	p.watches.mu.Lock()
	defer p.watches.mu.Unlock()
	requests := make([]Request, 0, len(p.watches.streams))
	for stream := range p.watches.streams {
		requests = append(requests, stream.request)
	}
	slices.SortFunc(requests, func(a, b Request) int { return strings.Compare(a.String(), b.String()) })
	return requests
}

func (w *watches) add(match Match, delay time.Duration, handle *Handle) *Handle {
	rule := &watchRule{match: match, delay: delay, handle: handle}
	handle.forget = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rules = slices.DeleteFunc(w.rules, func(other *watchRule) bool { return other == rule })
		for stream := range w.streams {
			stream.poke()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = append(w.rules, rule)
	return handle
}

func (w *watches) end(match Match, how func(*stream)) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := 0
	for stream := range w.streams {
		if match.matches(stream.request) {
			how(stream)
			ended++
		}
	}
	return ended
}

// arrived tells the rules that an event has arrived on a stream.
func (w *watches) arrived(request Request) {
	for _, rule := range w.rules {
		if rule.match.matches(request) {
			rule.handle.take(0, 0)
		}
	}
}

// due returns when an event that arrived at some time may be delivered, and whether it is held.
func (w *watches) due(request Request, came time.Time) (at time.Time, held bool) {
	at = came
	for _, rule := range w.rules {
		if !rule.match.matches(request) {
			continue
		}
		if rule.delay == 0 {
			return at, true
		}
		at = at.Add(rule.delay)
	}
	return at, false
}
