package pace

import (
	"testing"
	"time"
)

func TestRepeatedWritesAreDriftAndSlowDown(t *testing.T) {
	p, now := New[string](), time.Unix(1_000_000, 0)
	ask := func(after time.Duration, content Content, want Turn) {
		t.Helper()
		now = now.Add(after)
		if got := p.Ask("slice", content, now); got != want {
			t.Errorf("after %s, content %d: %+v, want %+v", after, content, got, want)
		}
	}
	drift := func(wait time.Duration) Turn { return Turn{Wait: wait, Drift: true} }
	ask(0, 1, Turn{})
	ask(0, 1, Turn{Drift: true, First: true})
	ask(0, 1, drift(time.Second))
	ask(400*time.Millisecond, 1, drift(600*time.Millisecond)) // to ask too early changes nothing
	ask(600*time.Millisecond, 1, drift(0))
	ask(0, 1, drift(2*time.Second))
	ask(2*time.Second, 1, drift(0))
	ask(time.Second, 1, drift(3*time.Second))
	ask(15*time.Second, 1, drift(0)) // quiet for rested pauses
	ask(0, 1, drift(time.Second))
	ask(0, 2, Turn{}) // other content never waits
	ask(0, 1, Turn{})
	ask(0, 1, Turn{Drift: true, First: true})
	ask(-time.Hour, 1, Turn{Drift: true, First: true}) // the clock is set back
	p.Forget("slice")
	ask(0, 1, Turn{})
}

func TestAnotherObjectHasItsOwnPace(t *testing.T) {
	p, now := New[string](), time.Unix(0, 0)
	p.Ask("a", 1, now)
	p.Ask("a", 1, now)
	if turn := p.Ask("b", 1, now); turn != (Turn{}) {
		t.Errorf("the first write of b: %+v", turn)
	}
}

func TestDriftAfterALongCalmIsReportedAgain(t *testing.T) {
	p, now := New[string](), time.Unix(0, 0)
	for range 3 {
		p.Ask("a", 1, now)
		now = now.Add(LongestPause)
	}
	now = now.Add(2 * Calm)
	if turn := p.Ask("a", 1, now); !turn.First || turn.Wait > 0 {
		t.Errorf("%+v, want a first correction without a wait", turn)
	}
}

func TestCorrectionsOfConstantDriftSlowDownToABound(t *testing.T) {
	p, now := New[int](), time.Unix(0, 0)
	corrections := 0
	for range int(time.Hour / time.Second) {
		if p.Ask(1, 7, now).Wait == 0 {
			corrections++
		}
		now = now.Add(time.Second)
	}
	if corrections < 15 || corrections > 25 {
		t.Errorf("%d corrections in an hour of drift each second", corrections)
	}
}

func TestRetryOfAFailedWriteIsNoDrift(t *testing.T) {
	p, now := New[string](), time.Unix(0, 0)
	p.Ask("a", 1, now)
	p.Failed("a")
	if turn := p.Ask("a", 1, now); turn != (Turn{}) {
		t.Errorf("the first write, tried again: %+v", turn)
	}
	p.Ask("a", 1, now)
	p.Failed("a")
	if turn := p.Ask("a", 1, now); !turn.First || turn.Wait > 0 {
		t.Errorf("the first correction, tried again: %+v", turn)
	}
	p.Failed("unknown")
	p.Keep(func(key string) bool { return false })
	if turn := p.Ask("a", 1, now); turn != (Turn{}) {
		t.Errorf("a write of an object that was dropped: %+v", turn)
	}
}

func TestContentDiffersWithAnyValue(t *testing.T) {
	is := ContentOf("a", map[string]string{"x": "1", "y": "2"})
	if same := ContentOf("a", map[string]string{"y": "2", "x": "1"}); same != is {
		t.Errorf("equal values: %d and %d", is, same)
	}
	for name, other := range map[string]Content{
		"another value": ContentOf("a", map[string]string{"x": "1", "y": "3"}), "one value less": ContentOf("a"),
		"no value": ContentOf(),
	} {
		if other == is {
			t.Errorf("%s: the same", name)
		}
	}
}
