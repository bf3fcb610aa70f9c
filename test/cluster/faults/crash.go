package faults

import (
	"net/http"
	"sync"
)

// CrashAfter lets the first n matching requests be made and no more. When all n have been answered, and before the
// last of those answers is delivered, it calls crash, once: there a test kills the client, or cancels its context.
// Requests past the n-th wait, unmade, until their client is gone or the rule is removed, and are dropped then. So
// what is stored is exactly n requests' worth, however many the client had in flight. With 0, crash is called when
// the first comes in. Hits are the requests that have come in.
//
// Remove the rule when the client is dead and before it is started again. That cuts all connections of clients: a
// request that the dead one has left on the wire must not slip through when the rule is gone.
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
		_ = response.Body.Close() // the answer dies with its client
	}
	return nil, errDropped
}

// begin says whether this request is among those to be made.
func (c *crashPoint) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	return c.begun <= c.after
}

// end says whether this answer is the last one.
func (c *crashPoint) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered++
	return c.answered == c.after
}

// tooLate holds the request rather than drop it at once: the client mustn't see, and act on, what its death is
// about to hide.
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
