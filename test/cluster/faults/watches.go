package faults

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// watches knows the open watch streams and what holds their events back. Its mutex guards their queues too.
type watches struct {
	mu      sync.Mutex
	streams map[*stream]struct{}
	rules   []*watchRule
}

// watchRule holds events back: for some time, or, with 0, until it is removed.
type watchRule struct {
	match  Match
	delay  time.Duration
	handle *Handle
}

// HoldWatches keeps back all events (bookmarks and the first ones included) of matching watches, open or to come,
// until it is released. The client sees an idle stream. Its hits are events that came in meanwhile, so a test can
// wait until the news that a client mustn't see is there. Lists aren't held: a client that starts now isn't stale,
// unless it lists by watching.
func (p *Proxy) HoldWatches(match Match) *Hold {
	return &Hold{Handle: p.watches.add(match, 0, newHandle("hold watches"))}
}

// DelayWatches delivers each event of matching watches, open or to come, so much later than it came in.
func (p *Proxy) DelayWatches(match Match, d time.Duration) *Handle {
	return p.watches.add(match, max(d, time.Nanosecond), newHandle("delay watches"))
}

// BreakWatches cuts the matching open streams, between two events, as a lost connection does, and says how many.
// Events that were held on them are lost; the client will ask for them again.
func (p *Proxy) BreakWatches(match Match) int {
	return p.watches.end(match, func(s *stream) { s.cut(errDropped, nil) })
}

// ExpireWatches ends the matching open streams with the API server's "410 Expired", so that their client has to
// list anew, and says how many. For a watch that is yet to be opened there is Answer(410).
func (p *Proxy) ExpireWatches(match Match) int {
	return p.watches.end(match, (*stream).expire)
}

// Watches are the watch streams that are open, sorted: their number is the gauge.
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

// arrived tells the rules that an event has come in on a stream.
func (w *watches) arrived(request Request) {
	for _, rule := range w.rules {
		if rule.match.matches(request) {
			rule.handle.take(0, 0)
		}
	}
}

// due says when an event that came in at some time may go on; not at all while it is held.
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
