package budget

import (
	"testing"
	"time"
)

func TestBudgetAllowsABurstAndThenAPace(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 300e6, time.UTC)
	s := New(Limit{Burst: 3, Pace: 10 * time.Second})
	allowed := func(namespace string, at time.Time) bool {
		_, limited := s.Limited(at)[namespace]
		return !limited
	}
	var passes []time.Duration
	for at := time.Duration(0); at <= time.Minute; at += 500 * time.Millisecond {
		if now := start.Add(at); allowed("app", now) {
			s.Spend([]string{"app"}, now)
			passes = append(passes, at)
		}
		if !allowed("other", start.Add(at)) {
			t.Fatalf("another namespace is limited after %s", at)
		}
	}
	if len(passes) != 3+6 && len(passes) != 3+5 {
		t.Errorf("%d passes in a minute, at %v; want a burst of 3, then one each 10 s", len(passes), passes)
	}
	if passes[2] != time.Second {
		t.Errorf("the burst lasts until %s", passes[2])
	}
	for i := 4; i < len(passes); i++ {
		if gap := passes[i] - passes[i-1]; gap < 9*time.Second || gap > 11*time.Second {
			t.Errorf("pass %d comes %s after the one before", i, gap)
		}
	}
}

func TestBudgetEndsAtOneTimeInWholeSeconds(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 300e6, time.UTC)
	s := New(Limit{Burst: 1, Pace: 10 * time.Second})
	s.Spend([]string{"app"}, start)
	want := time.Date(2026, 1, 2, 3, 4, 16, 0, time.UTC)
	for at := start; at.Before(want); at = at.Add(700 * time.Millisecond) {
		if got := s.Limited(at)["app"]; !got.Equal(want) {
			t.Fatalf("at %s the limit ends at %s, want %s", at, got, want)
		}
	}
	if got := s.Limited(want); len(got) > 0 {
		t.Errorf("limited after the end: %v", got)
	}
	s.Spend(nil, want.Add(time.Hour))
	if len(s.owed) > 0 {
		t.Errorf("a namespace with a full burst is still remembered: %v", s.owed)
	}
}

func TestBudgetIsBoundedWhenTheClockIsSetBack(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := New(Limit{Burst: 2, Pace: 10 * time.Second})
	s.Spend([]string{"app"}, start.Add(24*time.Hour))
	if until := s.Limited(start)["app"]; until.After(start.Add(10 * time.Second)) {
		t.Errorf("after the clock was set back by a day, the limit ends at %s", until)
	}
}

func TestBudgetWithoutAPaceHasNoLimit(t *testing.T) {
	s := New(Limit{})
	for range 100 {
		s.Spend([]string{"app"}, time.Unix(1, 0))
	}
	if limited := s.Limited(time.Unix(1, 0)); len(limited) > 0 {
		t.Errorf("%v is limited", limited)
	}
}
