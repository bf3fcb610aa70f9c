package console

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// throttle limits wrong tokens by sender: wrongInARow at once, then one in wrongPause. In between, the sender's
// requests are refused without a check, so that it can't guess in parallel. Only tokens with a cached acceptance pass.
// Other senders aren't affected.
type throttle struct {
	mu   sync.Mutex
	from map[string]*rate.Limiter
}

const (
	wrongInARow = 10
	wrongPause  = 5 * time.Second
	maxSenders  = 1024 // number of senders kept; beyond, the sender closest to the end of its wait is dropped
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
		if len(t.from) >= maxSenders {
			t.evictOne(now)
		}
		limiter = rate.NewLimiter(rate.Every(wrongPause), wrongInARow)
		t.from[from] = limiter
	}
	limiter.AllowN(now, 1)
}

// evictOne drops the sender that is closest to the end of its wait. So a sender with thousands of addresses may offer
// some wrong tokens from each. The alternative, to refuse all unknown senders, would let such a sender lock everyone
// out.
func (t *throttle) evictOne(now time.Time) {
	var best string
	most := math.Inf(-1)
	for from, limiter := range t.from {
		if tokens := limiter.TokensAt(now); tokens > most {
			best, most = from, tokens
		}
	}
	delete(t.from, best)
}

// senderOf returns the unit that counts as one sender: an IPv4 address, or an IPv6 network of 64 bits, since one
// machine may have all its addresses.
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
