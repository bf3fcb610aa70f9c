package faults

import (
	"context"
	"fmt"
	"time"
)

// Leases is a filter for Quiet: the leader's renewals of its lease don't count.
func Leases(r Request) bool { return r.Resource == "leases" }

// observer holds the time of the last request that its waiter counts.
type observer struct {
	ignore func(Request) bool
	at     time.Time
	last   Request
}

// observe tells the waiters that a request has begun or ended. The end of a stream isn't a request.
func (t *traffic) observe(call *Call) {
	if call.Request.LongRunning && !call.entry.Open {
		return
	}
	for observer := range t.observers {
		if !observer.ignore(call.Request) {
			observer.at, observer.last = time.Now(), call.Request
		}
	}
}

// Quiet waits for a period in which no request began, ended or was in flight, apart from ignored ones. Streams may stay
// open. A nil ignore ignores nothing.
func (p *Proxy) Quiet(ctx context.Context, quiet time.Duration, ignore func(Request) bool) error {
	if ignore == nil {
		ignore = func(Request) bool { return false }
	}
	watched := &observer{ignore: ignore, at: time.Now()}
	t := p.traffic
	t.mu.Lock()
	t.observers[watched] = struct{}{}
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.observers, watched)
		t.mu.Unlock()
	}()
	for {
		wait, last := t.unrest(watched, quiet)
		if wait <= 0 {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("not quiet for %s, the last request was %q: %w", quiet, last, context.Cause(ctx))
		}
	}
}

// unrest returns the remaining time of the quiet period, and the last request.
func (t *traffic) unrest(o *observer, quiet time.Duration) (time.Duration, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for call := range t.open {
		if !call.Request.LongRunning && !o.ignore(call.Request) {
			return quiet, call.Request.String()
		}
	}
	if o.last == (Request{}) {
		return quiet - time.Since(o.at), "none"
	}
	return quiet - time.Since(o.at), o.last.String()
}
