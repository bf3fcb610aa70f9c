package faults

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// traffic knows what has passed: how much of each kind, what came last, and what is still open.
type traffic struct {
	mu        sync.Mutex
	closed    bool
	open      map[*Call]struct{}
	counts    Snapshot
	log       ring
	observers map[*observer]struct{}
	ended     signal
}

func newTraffic(logSize int) *traffic {
	return &traffic{
		open:      map[*Call]struct{}{},
		counts:    Snapshot{},
		log:       ring{size: logSize},
		observers: map[*observer]struct{}{},
	}
}

// begin counts a request; not ok once the proxy is closed.
func (t *traffic) begin(call *Call) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	call.entry = &Entry{Request: call.Request, Start: time.Now(), Open: true}
	t.log.add(call.entry)
	t.counts[keyOf(call.Request)]++
	t.open[call] = struct{}{}
	t.observe(call)
	return true
}

func (t *traffic) end(call *Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	call.entry.Open = false
	call.entry.Took = time.Since(call.entry.Start)
	delete(t.open, call)
	t.observe(call)
	t.ended.fire()
}

func (t *traffic) update(call *Call, change func(*Entry)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(call.entry)
}

// close refuses further requests and waits a while for those that are open: their handlers have been told to end,
// but a test's own function may be running in one.
func (t *traffic) close(patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		t.mu.Lock()
		t.closed = true
		open, ended := len(t.open), t.ended.next()
		t.mu.Unlock()
		if open == 0 {
			return nil
		}
		select {
		case <-ended:
		case <-timer.C:
			return errors.New("a request is still running: does a rule's function wait for something?")
		}
	}
}

// Snapshot counts the requests so far, as the client sent them, made or not.
func (p *Proxy) Snapshot() Snapshot {
	p.traffic.mu.Lock()
	defer p.traffic.mu.Unlock()
	return maps.Clone(p.traffic.counts)
}

// Log tells of the latest requests in the order in which they came in.
func (p *Proxy) Log() []Entry {
	p.traffic.mu.Lock()
	defer p.traffic.mu.Unlock()
	return p.traffic.log.entries()
}
