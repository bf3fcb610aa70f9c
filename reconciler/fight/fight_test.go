package fight

import (
	"testing"
	"time"
)

func TestFight(t *testing.T) {
	f, now := New[string](), time.Unix(1_000_000, 0)
	allow := func(after time.Duration, wait time.Duration, first bool) {
		t.Helper()
		now = now.Add(after)
		if w, is := f.Allow("slice", now); w != wait || is != first {
			t.Errorf("after %s: wait %s, first %t; want %s, %t", after, w, is, wait, first)
		}
	}
	allow(0, 0, true)
	allow(0, time.Second, false)
	allow(400*time.Millisecond, 600*time.Millisecond, false) // asking costs nothing
	allow(600*time.Millisecond, 0, false)
	allow(0, 2*time.Second, false)
	allow(2*time.Second, 0, false)
	allow(time.Second, 3*time.Second, false)
	allow(15*time.Second, 0, false) // that was rest enough
	allow(0, time.Second, false)
	if w, first := f.Allow("another", now); w != 0 || !first {
		t.Errorf("another object waits %s, first %t", w, first)
	}
	allow(Calm, 0, true)
	allow(-time.Hour, 0, true) // the clock is set back
	f.Forget("slice")
	allow(0, 0, true)
}

func TestFightSlowsDownToABound(t *testing.T) {
	f, now := New[int](), time.Unix(0, 0)
	corrections := 0
	for range int(time.Hour / time.Second) {
		if wait, _ := f.Allow(1, now); wait == 0 {
			corrections++
		}
		now = now.Add(time.Second)
	}
	if corrections < 15 || corrections > 25 {
		t.Errorf("%d corrections in an hour of being changed back each second", corrections)
	}
}

func TestWhatRestsIsForgotten(t *testing.T) {
	f, now := New[int](), time.Unix(0, 0)
	for i := range 1000 {
		f.Allow(i, now)
	}
	f.Allow(-1, now.Add(Calm))
	if len(f.score) != 1 {
		t.Errorf("%d objects are remembered, 1 is quarrelled over", len(f.score))
	}
}
