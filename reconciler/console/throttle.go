package console

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// throttle bounds how often a sender may offer a wrong token: some times in a row, then once in five seconds. Until then all
// its requests are refused unread, so that it can't guess in parallel. No other sender is refused for it.
type throttle struct {
	mu   sync.Mutex
	from map[string]*rate.Limiter
}

const (
	wrongInARow  = 10
	wrongPause   = 5 * time.Second
	mostThrottle = 1024 // senders that are remembered; beyond, the one that has waited longest is forgotten
)

func newThrottle() *throttle { return &throttle{from: map[string]*rate.Limiter{}} }

func (t *throttle) mayTry(from string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter := t.from[from]
	return limiter == nil || limiter.TokensAt(now) >= 1
}

func (t *throttle) failed(from string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter := t.from[from]
	if limiter == nil {
		if len(t.from) >= mostThrottle {
			t.forgetOne(now)
		}
		limiter = rate.NewLimiter(rate.Every(wrongPause), wrongInARow)
		t.from[from] = limiter
	}
	limiter.AllowN(now, 1)
}

// forgetOne forgets the sender that is closest to being forgiven. So a sender with thousands of addresses may offer some wrong tokens
// from each. To refuse all unknown senders instead would let it lock the console.
func (t *throttle) forgetOne(now time.Time) {
	var best string
	most := math.Inf(-1)
	for from, limiter := range t.from {
		if tokens := limiter.TokensAt(now); tokens > most {
			best, most = from, tokens
		}
	}
	delete(t.from, best)
}

// senderOf is what counts as one sender: an IPv4 address, or an IPv6 network of 64 bits, all addresses of which one machine may
// have.
func senderOf(host string) string {
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	network, err := address.Prefix(64)
	if err != nil {
		return host
	}
	return network.String()
}
