// Package figure prints what a benchmark found, one line a figure, for people and for scripts:
//
//	NAME VALUE UNIT ratio=R target=T ok|short
//
// R is the value in relation to its floor: the least that the same work could cost, measured in the same run, because
// a machine is only as fast as its other guests let it be. T is the largest R that is good enough. Where a figure is
// held to a fixed value instead, T has a unit, and R is the part of it that was used.
package figure

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Against prints a value that is held to its floor.
func Against(w io.Writer, name string, value float64, unit string, floor, target float64) {
	ratio := value / floor
	line(w, name, value, unit, ratio, fmt.Sprintf("%g", target), ratio <= target)
}

// AtMost prints a value that is held to a fixed one.
func AtMost(w io.Writer, name string, value float64, unit string, target float64) {
	line(w, name, value, unit, value/target, fmt.Sprintf("%g%s", target, unit), value <= target)
}

// line begins on a new one: `go test -bench` has already written the benchmark's name.
func line(w io.Writer, name string, value float64, unit string, ratio float64, target string, good bool) {
	word := "short"
	if good {
		word = "ok"
	}
	digits := 1
	if value >= 1000 {
		digits = 0
	}
	fmt.Fprintf(w, "\n%s %.*f %s ratio=%.2f target=%s %s\n", name, digits, value, unit, ratio, target, word)
}

// Pair measures two things in turns, so that a busy moment of the machine hits both.
type Pair struct {
	floor, ours []time.Duration
}

// Turn runs each of them that many times in a row. Few in a row share the machine's moments better, many are timed
// more exactly.
func (p *Pair) Turn(times int, floor, ours func()) {
	p.floor = append(p.floor, timed(times, floor))
	p.ours = append(p.ours, timed(times, ours))
}

// Medians are what one run of each took.
func (p *Pair) Medians() (floor, ours time.Duration) {
	return median(p.floor), median(p.ours)
}

func timed(times int, run func()) time.Duration {
	start := time.Now()
	for range times {
		run()
	}
	return time.Since(start) / time.Duration(times)
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
