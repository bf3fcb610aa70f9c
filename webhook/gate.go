package webhook

import (
	"net/http"
	"time"
)

const (
	// maxLarge is how many large bodies are read and judged at once; together they take some 200 MiB at the worst.
	maxLarge = 4
	// gateWait is as long as an API server would wait for the answer.
	gateWait = 5 * time.Second
)

// gate lets few large bodies in at a time, so that no number of them takes all memory. Whoever sends one slowly keeps
// his place no longer than the server's read timeout; the small ones never wait.
type gate chan struct{}

func newGate() gate { return make(gate, maxLarge) }

// enter waits for a place if the body may be large; leave gives it back.
func (g gate) enter(r *http.Request) (leave func(), _ *fault) {
	if r.ContentLength >= 0 && r.ContentLength <= smallBody {
		return func() {}, nil
	}
	timeout := time.NewTimer(gateWait)
	defer timeout.Stop()
	select {
	case g <- struct{}{}:
		return func() { <-g }, nil
	case <-timeout.C:
	case <-r.Context().Done():
	}
	return nil, faultf(http.StatusServiceUnavailable, "too many bodies of more than %d bytes at once: try again",
		smallBody)
}
