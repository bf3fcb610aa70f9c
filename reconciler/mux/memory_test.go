package mux

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

var web = types.NamespacedName{Namespace: "app", Name: "web"}

// What was tried again isn't waited for any more: a point in time that has passed would have a mux looked at for ever.
func TestSetbacksThatWereTriedAreForgotten(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, fail := range map[string]func(*memory, setback){
		"notes":   func(m *memory, s setback) { m.notes = s },
		"refused": func(m *memory, s setback) { m.refused[web] = refusal{setback: s} },
		"stuck":   func(m *memory, s setback) { m.stuck[web] = s },
		"failing": func(m *memory, s setback) { m.failing[web] = s },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(Budget{})
			first := setback{}.again(began)
			fail(m, first)
			m.begin(began)
			m.tried()
			if got := m.nextTry(); !got.Equal(first.until) {
				t.Errorf("one that isn't over is tried at %s", got)
			}
			m.begin(first.until)
			again := setback{}.again(began.Add(-time.Hour)) // it fails again, and the clock was set back meanwhile
			fail(m, again)
			m.tried()
			if got := m.nextTry(); !got.Equal(again.until) {
				t.Errorf("one that failed again is tried at %s", got)
			}
			m.begin(again.until)
			m.tried()
			if got := m.nextTry(); !got.IsZero() {
				t.Errorf("one that is over is tried at %s again", got)
			}
			fail(m, again)
			m.begin(began.Add(-2 * time.Hour))
			m.tried()
			if got := m.nextTry(); !got.IsZero() {
				t.Errorf("one of before the clock was set back is tried at %s", got)
			}
		})
	}
}

func TestSetbacksAreTriedEverLater(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var s setback
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		if s = s.again(now); s.until.Sub(now) != want {
			t.Errorf("it is tried in %s, not %s", s.until.Sub(now), want)
		}
	}
	for range 20 {
		s = s.again(now)
	}
	if s.until.Sub(now) != longestPause {
		t.Errorf("in the end it is tried every %s", s.until.Sub(now))
	}
}

func TestWhatIsSaidAgainIsNewsOnlyAfterItWasTakenBack(t *testing.T) {
	full, bad := plan.Event{Message: "full"}, plan.Event{Message: "bad"}
	var said sayings
	for i, step := range []struct {
		events []plan.Event
		news   int
	}{
		{[]plan.Event{full}, 1},
		{[]plan.Event{full}, 0},
		{[]plan.Event{full, bad}, 1},
		{nil, 0},
		{[]plan.Event{full}, 1},
	} {
		if got := said.news(step.events); len(got) != step.news {
			t.Errorf("step %d: news are %v", i, got)
		}
	}
}

// TestAContestEndsAtOneTime however often a pass asks: the clock moves between two passes, and the Event names the end.
func TestAContestEndsAtOneTime(t *testing.T) {
	m, end := newMemory(Budget{}), time.Unix(1_000_000, 0)
	for _, step := range []struct{ asked, want time.Duration }{{0, 0}, {99 * time.Millisecond, 0}, {-99 * time.Millisecond, 0}, {time.Second, time.Second}} {
		if got := m.contestedUntil(end.Add(step.asked)); !got.Equal(end.Add(step.want)) {
			t.Errorf("%s later it ends at %s", step.asked, got)
		}
	}
}
