package console

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// throttle slows down who guesses: an address may be wrong a few times in a row, then once in five seconds. Until then it
// isn't listened to at all, or it could guess as fast as it likes and wait for answers later.
type throttle struct {
	mu   sync.Mutex
	from map[string]*rate.Limiter
}

const (
	wrongInARow  = 10
	wrongPause   = 5 * time.Second
	mostThrottle = 1024 // addresses; beyond, all others are taken for one
)

func newThrottle() *throttle { return &throttle{from: map[string]*rate.Limiter{}} }

func (t *throttle) mayTry(from string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter := t.limiter(from)
	return limiter == nil || limiter.TokensAt(now) >= 1
}

func (t *throttle) failed(from string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter := t.limiter(from)
	if limiter == nil {
		t.tidy(now)
		if len(t.from) >= mostThrottle {
			from = ""
		}
		limiter = rate.NewLimiter(rate.Every(wrongPause), wrongInARow)
		t.from[from] = limiter
	}
	limiter.AllowN(now, 1)
}

// limiter is that of an address, or, if there are too many, the one that all others share; nil if it never failed.
func (t *throttle) limiter(from string) *rate.Limiter {
	if limiter := t.from[from]; limiter != nil {
		return limiter
	}
	return t.from[""]
}

// tidy forgets who hasn't been wrong for long.
func (t *throttle) tidy(now time.Time) {
	for from, limiter := range t.from {
		if limiter.TokensAt(now) >= wrongInARow {
			delete(t.from, from)
		}
	}
}
