package balancer

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/balancer/claims"
	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/want"
)

// News is what the API server told last. Its objects must not be changed.
type News struct {
	// Claims are nil until the ConfigMap was read. ClaimsVersion is its version.
	Claims        *claims.Claims
	ClaimsVersion lease.Version
	// ClaimsFault says why the newest ConfigMap can't be used. Claims are then those of the last ConfigMap that could be
	// used.
	ClaimsFault string
	Muxes       want.List[*corev1.Service]
	Slices      want.List[*want.Slice]
}

// Source has the latest news.
type Source interface {
	Latest() News
	// Changed is readable after the news changed.
	Changed() <-chan struct{}
}

// Board keeps the latest News in memory. Post replaces it, and wakes the reader.
type Board struct {
	changed chan struct{}
	mu      sync.Mutex
	news    News
}

// NewBoard returns a board without news: nothing was read yet.
func NewBoard() *Board { return &Board{changed: make(chan struct{}, 1)} }

// Post replaces the news.
func (b *Board) Post(news News) {
	b.mu.Lock()
	b.news = news
	b.mu.Unlock()
	wake(b.changed)
}

// Latest returns the news.
func (b *Board) Latest() News {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

// Changed is readable after Post.
func (b *Board) Changed() <-chan struct{} { return b.changed }

func wake(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default: // a wake-up is waiting already
	}
}
