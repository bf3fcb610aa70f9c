package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"sync"
	"time"
)

// Opinion is the API server's answer about a token.
type Opinion struct {
	// Known says that the API server knows the token, and Allowed that its user has the right.
	Known, Allowed bool
	// Why is the reason of a refusal, and who can change it.
	Why string
}

// Reviewer asks the API server whether a token's user may read the console, or use its actions.
type Reviewer func(ctx context.Context, token string, act bool) (Opinion, error)

const (
	reviewTTL            = 10 * time.Second // a right that was revoked still counts for this time
	reviewTimeout        = 5 * time.Second
	maxConcurrentReviews = 4
	maxCachedReviews     = 1024
)

// reviews asks the API server, and caches the answers for a short time, since a page makes many requests. It caches no
// answers about unknown tokens, so guessed tokens don't displace the answers about users.
type reviews struct {
	ask   Reviewer
	now   func() time.Time
	slots chan struct{}

	mu      sync.Mutex
	answers map[reviewKey]review
}

// reviewKey has the hash of a token, so that the cache holds no tokens.
type reviewKey struct {
	token [sha256.Size]byte
	act   bool
}

type review struct {
	Opinion
	until time.Time
}

func newReviews(ask Reviewer, now func() time.Time) *reviews {
	if ask == nil {
		return nil
	}
	return &reviews{ask: ask, now: now, slots: make(chan struct{}, maxConcurrentReviews), answers: map[reviewKey]review{}}
}

// isAdmitted says that a cached answer allows the request.
func (v *reviews) isAdmitted(token string, act bool) bool {
	opinion, known := v.cached(keyOfReview(token, act))
	return known && opinion.Allowed
}

// judge returns the cached answer, or asks the API server. At most maxConcurrentReviews requests run at once; others
// wait.
func (v *reviews) judge(ctx context.Context, token string, act bool) (Opinion, error) {
	key := keyOfReview(token, act)
	if opinion, known := v.cached(key); known {
		return opinion, nil
	}
	within, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-within.Done():
		return Opinion{}, errors.New("too many tokens are being reviewed")
	}
	opinion, err := v.ask(within, token, act)
	if err == nil && opinion.Known {
		v.store(key, opinion)
	}
	return opinion, err
}

func keyOfReview(token string, act bool) reviewKey {
	return reviewKey{token: sha256.Sum256([]byte(token)), act: act}
}

func (v *reviews) cached(key reviewKey) (Opinion, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	answer, known := v.answers[key]
	if !known || !v.now().Before(answer.until) {
		return Opinion{}, false
	}
	return answer.Opinion, true
}

// store adds an answer. If there are too many, it drops those that have expired, and one other if there are still too
// many.
func (v *reviews) store(key reviewKey, opinion Opinion) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.answers) >= maxCachedReviews {
		now := v.now()
		maps.DeleteFunc(v.answers, func(_ reviewKey, answer review) bool { return !now.Before(answer.until) })
	}
	if len(v.answers) >= maxCachedReviews {
		for any := range v.answers {
			delete(v.answers, any)
			break
		}
	}
	v.answers[key] = review{opinion, v.now().Add(reviewTTL)}
}
