package services

import (
	"testing"
	"time"
)

func TestDebouncer(t *testing.T) {
	const quiet, longest = 50 * time.Millisecond, time.Second
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for name, test := range map[string]struct {
		changes []int // milliseconds
		asked   int
		want    time.Duration
	}{
		"no change":                                         {nil, 0, 0},
		"the first change causes a pass at once":            {[]int{0}, 0, 0},
		"a change soon after waits for quiet":               {[]int{20}, 20, 50 * time.Millisecond},
		"each change restarts the wait":                     {[]int{20, 60}, 60, 50 * time.Millisecond},
		"quiet ends the wait":                               {[]int{20, 60}, 110, 0},
		"a change after a quiet time causes a pass at once": {[]int{60}, 60, 0},
		"constant changes wait for a bounded time":          {every(10, 20, 110), 110, 10 * time.Millisecond},
		"constant changes cause a pass then":                {every(10, 20, 120), 120, 0},
		"a clock that is set back causes no wait":           {[]int{3600_000}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDebouncer(quiet, longest)
			if name != "the first change causes a pass at once" {
				c.changed(web, start)
				if wait := c.wait(web, start); wait != 0 {
					t.Fatalf("the first change waits %s", wait)
				}
			}
			for _, change := range test.changes {
				c.changed(web, at(change))
			}
			if got := c.wait(web, at(test.asked)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if test.want == 0 {
				if got := c.wait(web, at(test.asked)); got != 0 {
					t.Errorf("waits %s without a change", got)
				}
			}
		})
	}
}

// TestStreamOfChangesIsWrittenAtADistance: only a burst is written faster.
func TestStreamOfChangesIsWrittenAtADistance(t *testing.T) {
	const quiet, longest = 50 * time.Millisecond, time.Second
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := newDebouncer(quiet, longest)
	var passes []time.Time
	var due time.Time
	for ms := 0; ms < 10_000; ms += 10 {
		now := start.Add(time.Duration(ms) * time.Millisecond)
		if ms%60 == 0 { // like a tool that applies many files in a row
			c.changed(web, now)
			due = now.Add(c.wait(web, now))
		}
		if !due.IsZero() && !now.Before(due) {
			due = time.Time{}
			if wait := c.wait(web, now); wait > 0 {
				due = now.Add(wait)
				continue
			}
			if len(passes) == 0 || passes[len(passes)-1] != now {
				passes = append(passes, now)
				c.wrote(web, now)
			}
		}
	}
	if early := passes[maxBurst-1].Sub(start); early > longest {
		t.Errorf("the first %d writes take %s", maxBurst, early)
	}
	if most := maxBurst + 10*2 + 1; len(passes) > most || len(passes) < maxBurst+10 {
		t.Errorf("%d writes in 10 s, want about %d", len(passes), most)
	}
	for i := 1; i < len(passes); i++ {
		if gap := passes[i].Sub(passes[i-1]); gap > longest {
			t.Errorf("no write for %[2]s after %[1]s", passes[i-1].Sub(start), gap)
		}
	}
}

// every returns the times from first to last, one each step.
func every(step, first, last int) []int {
	var list []int
	for ms := first; ms <= last; ms += step {
		list = append(list, ms)
	}
	return list
}
