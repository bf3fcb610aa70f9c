package webhook

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// maxChunks, of smallBody each, are held of large bodies at once: 32 MiB, as much as the four largest have.
	maxChunks = 512
	// maxPlaces is how many large bodies are parsed and judged at once; together they take some 200 MiB at the worst.
	maxPlaces = 4
	// gateWait is less than the 5 s that the chart has API servers wait: one that gave up first would learn no reason.
	gateWait = 4 * time.Second
)

// gate bounds what large bodies take of the memory, however many there are:
//
//	the first smallBody bytes         are free: small bodies never wait
//	each chunk that arrives beyond    takes one of maxChunks
//	the whole, about to be parsed     takes one of maxPlaces
//
// Both are held to the end. Whoever sends slowly, or announces much and sends little, holds as much as has arrived, and
// no place. Bodies that wait for each other's chunks give up in the end, the first one first, and let the others go on.
type gate struct {
	chunks, places chan struct{}
	wait           time.Duration
	crowded        atomic.Bool // somebody was turned away since the gate was last empty
}

func newGate() *gate {
	return &gate{chunks: make(chan struct{}, maxChunks), places: make(chan struct{}, maxPlaces), wait: gateWait}
}

// loan is what one request holds of a gate.
type loan struct {
	gate           *gate
	chunks, places int
}

func (l *loan) takeChunk(ctx context.Context) *fault {
	if !l.gate.take(ctx, l.gate.chunks) {
		return crowded()
	}
	l.chunks++
	return nil
}

func (l *loan) takePlace(ctx context.Context) *fault {
	if !l.gate.take(ctx, l.gate.places) {
		return crowded()
	}
	l.places++
	return nil
}

func (l *loan) giveBack() {
	for range l.chunks {
		<-l.gate.chunks
	}
	for range l.places {
		<-l.gate.places
	}
	l.chunks, l.places = 0, 0
	if len(l.gate.chunks)+len(l.gate.places) == 0 {
		l.gate.crowded.Store(false)
	}
}

func (g *gate) take(ctx context.Context, from chan struct{}) bool {
	timeout := time.NewTimer(g.wait)
	defer timeout.Stop()
	select {
	case from <- struct{}{}:
		return true
	case <-timeout.C:
	case <-ctx.Done():
	}
	return false
}

func crowded() *fault {
	return faultf(http.StatusServiceUnavailable, "too many bodies of more than %d bytes at once: try again", smallBody)
}

// isNews is true for the first one turned away since the gate was last empty.
func (g *gate) isNews(fault *fault) bool {
	return fault.code == http.StatusServiceUnavailable && g.crowded.CompareAndSwap(false, true)
}
