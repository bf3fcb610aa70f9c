package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// api is an API server that knows some tokens.
type api struct {
	mu     sync.Mutex
	looks  map[string]bool // tokens of users who may view
	acts   map[string]bool
	asked  int
	broken bool
}

func (a *api) review(_ context.Context, token string, act bool) (Opinion, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	if a.broken {
		return Opinion{}, errors.New("the API server is away")
	}
	allowed, known := a.looks[token]
	if act {
		allowed = a.acts[token]
	}
	return Opinion{Known: known, Allowed: allowed, Why: "ask for a Role"}, nil
}

func withReviews(a *api) func(*Options) {
	return func(o *Options) { o.Review, o.Actions = a.review, true }
}

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

func TestReviewedTokens(t *testing.T) {
	known := map[string]bool{"reader": true, "actor": true, "stranger": false}
	for name, tc := range map[string]struct {
		method, path string
		as           func(*http.Request)
		broken       bool
		status       int
		reason       string
	}{
		"no token":                            {"GET", "/api/state", from("192.0.2.1:1"), false, 401, ""},
		"no token, on this machine":           {"GET", "/", host("localhost:8080"), false, 401, ""},
		"an unknown token":                    {"GET", "/", bearer("guess"), false, 401, "token"},
		"a user who may view":                 {"GET", "/api/state", bearer("reader"), false, 200, ""},
		"a user who may view, as password":    {"GET", "/", basic("any", "reader"), false, 200, ""},
		"a user who may not view":             {"GET", "/", bearer("stranger"), false, 403, "forbidden"},
		"a user who may view, and acts":       {"POST", "/api/test-tcp", bearer("reader"), false, 403, "forbidden"},
		"a user who may act, with a bad body": {"POST", "/api/test-tcp", bearer("actor"), false, 400, ""},
		"a user while the API server is away": {"GET", "/", bearer("reader"), true, 503, "unreviewed"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, withReviews(&api{looks: known, acts: map[string]bool{"actor": true}, broken: tc.broken}))
			got := k.ask(tc.method, tc.path, tc.as, header("Content-Type", "application/json"),
				header("Sec-Fetch-Site", "same-origin"))
			if got.Code != tc.status {
				t.Errorf("status %d, want %d: %s", got.Code, tc.status, got.Body)
			}
			if tc.reason != "" && k.refusals(t, tc.reason) != 1 {
				t.Errorf("no refusal is counted as %q", tc.reason)
			}
		})
	}
}

func TestReviewsAreCachedForAMoment(t *testing.T) {
	a := &api{looks: map[string]bool{"reader": true}}
	k := newKit(t, withReviews(a))
	for range 5 {
		k.ask("GET", "/", bearer("reader"))
	}
	if a.asked != 1 {
		t.Errorf("%d reviews of one token, want 1", a.asked)
	}
	a.looks["reader"] = false
	k.pass(reviewTTL)
	if got := k.ask("GET", "/", bearer("reader")); got.Code != http.StatusForbidden {
		t.Errorf("%s after the right was revoked: %d", reviewTTL, got.Code)
	}
}

// TestAdmittedUserIsNotThrottledForOthers checks senders behind an Ingress, which all have one address.
func TestAdmittedUserIsNotThrottledForOthers(t *testing.T) {
	a := &api{looks: map[string]bool{"reader": true}}
	k := newKit(t, withReviews(a))
	k.ask("GET", "/", bearer("reader"))
	for i := range wrongInARow + 1 {
		k.ask("GET", "/", bearer(fmt.Sprint("guess", i)))
	}
	if got := k.ask("GET", "/", bearer("another guess")); got.Code != http.StatusTooManyRequests {
		t.Errorf("guesses aren't throttled: %d", got.Code)
	}
	if a.asked > wrongInARow+1 {
		t.Errorf("%d reviews, although only %d guesses are allowed", a.asked, wrongInARow)
	}
	if got := k.ask("GET", "/", bearer("reader")); got.Code != http.StatusOK {
		t.Errorf("the reader behind the same address gets %d", got.Code)
	}
}

func TestReviewsAreBounded(t *testing.T) {
	a := &api{looks: map[string]bool{}}
	for i := range 2 * maxCachedReviews {
		a.looks[fmt.Sprint(i)] = true
	}
	v := newReviews(a.review, func() time.Time { return time.Unix(0, 0) })
	for i := range 2 * maxCachedReviews {
		if opinion, err := v.judge(t.Context(), fmt.Sprint(i), false); err != nil || !opinion.Allowed {
			t.Fatalf("%v, %v", opinion, err)
		}
	}
	if n := len(v.answers); n > maxCachedReviews {
		t.Errorf("%d answers are cached", n)
	}
	slow := newReviews(func(ctx context.Context, _ string, _ bool) (Opinion, error) {
		<-ctx.Done()
		return Opinion{}, ctx.Err()
	}, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for i := range maxConcurrentReviews {
		waiting.Go(func() { _, _ = slow.judge(ctx, fmt.Sprint(i), false) })
	}
	for len(slow.slots) < maxConcurrentReviews {
		time.Sleep(time.Millisecond)
	}
	short, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if _, err := slow.judge(short, "one more", false); err == nil {
		t.Errorf("more than %d concurrent reviews", maxConcurrentReviews)
	}
	cancel()
	waiting.Wait()
}
