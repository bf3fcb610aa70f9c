package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"sync"
	"time"
)

// Opinion is what the API server thinks of a token.
type Opinion struct {
	// Known is true if the API server knows the token, and Allowed if the token's user has the right.
	Known, Allowed bool
	// Why tells that user why not, and who can change it.
	Why string
}

// Reviewer asks the API server about a token: whether its user may look, or act.
type Reviewer func(ctx context.Context, token string, act bool) (Opinion, error)

const (
	reviewKept     = 10 * time.Second // for as long, a right that was taken away still counts
	reviewPatience = 5 * time.Second
	reviewsAtOnce  = 4
	mostReviews    = 1024
)

// reviews asks, and keeps the answers for a moment: a page makes many requests. It keeps none about tokens that nobody has, so
// guesses don't displace the answers about users.
type reviews struct {
	ask   Reviewer
	now   func() time.Time
	turns chan struct{}

	mu   sync.Mutex
	kept map[reviewKey]review
}

// reviewKey has a token's hash: the memory of the process holds no more tokens than it must.
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
	return &reviews{ask: ask, now: now, turns: make(chan struct{}, reviewsAtOnce), kept: map[reviewKey]review{}}
}

// isAdmitted is true if the API server allowed it a moment ago.
func (v *reviews) isAdmitted(token string, act bool) bool {
	opinion, known := v.remembered(keyOfReview(token, act))
	return known && opinion.Allowed
}

// judge returns the answer that is kept, or asks. At most reviewsAtOnce requests are under way; others wait.
func (v *reviews) judge(ctx context.Context, token string, act bool) (Opinion, error) {
	key := keyOfReview(token, act)
	if opinion, known := v.remembered(key); known {
		return opinion, nil
	}
	within, cancel := context.WithTimeout(ctx, reviewPatience)
	defer cancel()
	select {
	case v.turns <- struct{}{}:
		defer func() { <-v.turns }()
	case <-within.Done():
		return Opinion{}, errors.New("too many tokens are being reviewed")
	}
	opinion, err := v.ask(within, token, act)
	if err == nil && opinion.Known {
		v.keep(key, opinion)
	}
	return opinion, err
}

func keyOfReview(token string, act bool) reviewKey {
	return reviewKey{token: sha256.Sum256([]byte(token)), act: act}
}

func (v *reviews) remembered(key reviewKey) (Opinion, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	answer, known := v.kept[key]
	if !known || !v.now().Before(answer.until) {
		return Opinion{}, false
	}
	return answer.Opinion, true
}

// keep drops answers that are too old, and one other if there are still too many.
func (v *reviews) keep(key reviewKey, opinion Opinion) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.kept) >= mostReviews {
		now := v.now()
		maps.DeleteFunc(v.kept, func(_ reviewKey, answer review) bool { return !now.Before(answer.until) })
	}
	if len(v.kept) >= mostReviews {
		for any := range v.kept {
			delete(v.kept, any)
			break
		}
	}
	v.kept[key] = review{opinion, v.now().Add(reviewKept)}
}
