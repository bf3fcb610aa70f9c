package faults

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// traffic records the requests: the count of each kind, the latest ones, and the open ones.
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

// begin counts a request. It returns false if the proxy is closed.
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

// close refuses further requests, and waits for the open ones. Their handlers have been told to end, but a test's own
// function may be running in one.
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

// Snapshot returns the counts of requests so far, as clients sent them, made or not.
func (p *Proxy) Snapshot() Snapshot {
	p.traffic.mu.Lock()
	defer p.traffic.mu.Unlock()
	return maps.Clone(p.traffic.counts)
}

// Log returns the latest requests in the order of their arrival.
func (p *Proxy) Log() []Entry {
	p.traffic.mu.Lock()
	defer p.traffic.mu.Unlock()
	return p.traffic.log.entries()
}
