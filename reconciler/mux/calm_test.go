package mux

import (
	"testing"
	"time"
)

func TestCalm(t *testing.T) {
	const quiet, longest = 50 * time.Millisecond, time.Second
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for name, test := range map[string]struct {
		changes []int // milliseconds
		asked   int
		want    time.Duration
	}{
		"nothing changed":                                      {nil, 0, 0},
		"the first change is acted on at once":                 {[]int{0}, 0, 0},
		"a change soon after waits for quiet":                  {[]int{20}, 20, 50 * time.Millisecond},
		"each change has it wait anew":                         {[]int{20, 60}, 60, 50 * time.Millisecond},
		"until it is quiet":                                    {[]int{20, 60}, 110, 0},
		"a change after a while is acted on":                   {[]int{60}, 60, 0},
		"however long changes come, it is enough":              {every(10, 20, 110), 110, 10 * time.Millisecond},
		"and then it is acted on":                              {every(10, 20, 120), 120, 0},
		"a clock that is set back is no reason to wait for it": {[]int{3600_000}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCalm(quiet, longest)
			if name != "the first change is acted on at once" {
				c.changed(web, start)
				if wait := c.wait(web, start); wait != 0 {
					t.Fatalf("the first change waits %s", wait)
				}
			}
			for _, change := range test.changes {
				c.changed(web, at(change))
			}
			if got := c.wait(web, at(test.asked)); got != test.want {
				t.Errorf("it waits %s, not %s", got, test.want)
			}
			if test.want == 0 {
				if got := c.wait(web, at(test.asked)); got != 0 {
					t.Errorf("with nothing new, it waits %s", got)
				}
			}
		})
	}
}

// What a short burst may have, a stream of changes may not: it is written at a distance.
func TestCalmKeepsADistance(t *testing.T) {
	const quiet, longest = 50 * time.Millisecond, time.Second
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := newCalm(quiet, longest)
	var passes []time.Time
	var due time.Time
	for ms := 0; ms < 10_000; ms += 10 {
		now := start.Add(time.Duration(ms) * time.Millisecond)
		if ms%60 == 0 { // as when many files are applied one after the other
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
	if early := passes[inARow-1].Sub(start); early > longest {
		t.Errorf("the first %d writes take %s", inARow, early)
	}
	if most := inARow + 10*2 + 1; len(passes) > most || len(passes) < inARow+10 {
		t.Errorf("%d writes in 10 s, of about %d", len(passes), most)
	}
	for i := 1; i < len(passes); i++ {
		if gap := passes[i].Sub(passes[i-1]); gap > longest {
			t.Errorf("after %s, nothing is written for %s", passes[i-1].Sub(start), gap)
		}
	}
}

// every lists points in time.
func every(step, first, last int) []int {
	var list []int
	for ms := first; ms <= last; ms += step {
		list = append(list, ms)
	}
	return list
}
