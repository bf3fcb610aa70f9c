package faults

import (
	"net/http"
	"sync"
)

// CrashAfter lets the first n matching requests be made, and no more. When all n have answers, but before it delivers
// the last one, it calls crash once: a test then kills the client, or cancels its context. Later requests wait until
// their client is gone or the rule is removed, and are then dropped. So exactly n requests have taken effect, whatever
// the client had in flight. With n = 0, the first request calls crash. Hits counts the incoming requests.
//
// Remove the rule after the client is dead, and before it starts again. Remove cuts all connections of clients: a
// pending request of the dead client must not be made after the rule is gone.
func (p *Proxy) CrashAfter(n int, match Match, crash func()) *Handle {
	handle := newHandle("crash")
	handle.ending = p.clients.cut
	point := &crashPoint{after: n, crash: crash, handle: handle}
	return p.rules.add(Rule{Name: "crash", Match: match, Do: point.act}, handle)
}

type crashPoint struct {
	after  int
	crash  func()
	handle *Handle

	mu              sync.Mutex
	begun, answered int
	crashed         sync.Once
}

func (c *crashPoint) act(call *Call, next Next) (*http.Response, error) {
	if !c.begin() {
		return c.tooLate(call)
	}
	response, err := call.Whole(next)
	if !c.end() || c.handle.isRemoved() {
		return response, err
	}
	c.crashed.Do(c.crash)
	if err == nil {
		_ = response.Body.Close() // the dead client never gets the answer
	}
	return nil, errDropped
}

// begin returns whether this request is among the first n.
func (c *crashPoint) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	return c.begun <= c.after
}

// end returns whether this answer is the last of the first n.
func (c *crashPoint) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered++
	return c.answered == c.after
}

// tooLate holds the request instead of dropping it at once: the client must not react to the failure before it is
// killed.
func (c *crashPoint) tooLate(call *Call) (*http.Response, error) {
	if c.after == 0 {
		c.crashed.Do(c.crash)
	}
	select {
	case <-c.handle.removed:
	case <-call.Done():
	}
	return nil, errDropped
}
