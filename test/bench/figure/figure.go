// Package figure prints the results of benchmarks, one figure per line, for people and for scripts:
//
//	NAME VALUE UNIT ratio=R target=T ok|short
//
// R is the ratio of the value to its floor: the least that the same work can cost. The floor is measured in the same
// run, because the machine's speed depends on its other guests. T is the largest R that passes. A figure without a
// floor has a fixed target instead: then T has a unit, and R is the value as a part of T.
package figure

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Against prints a value and its ratio to a floor.
func Against(w io.Writer, name string, value float64, unit string, floor, target float64) {
	ratio := value / floor
	line(w, name, value, unit, ratio, fmt.Sprintf("%g", target), ratio <= target)
}

// AtMost prints a value and its ratio to a fixed target.
func AtMost(w io.Writer, name string, value float64, unit string, target float64) {
	line(w, name, value, unit, value/target, fmt.Sprintf("%g%s", target, unit), value <= target)
}

// line begins a new line first: `go test -bench` has already printed the benchmark's name.
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

// Pair measures two functions in turns, so that a busy moment of the machine affects both.
type Pair struct {
	floor, ours []time.Duration
}

// Turn runs each function the given number of times in a row. Small numbers spread the machine's busy moments evenly,
// large numbers are more exact.
func (p *Pair) Turn(times int, floor, ours func()) {
	p.floor = append(p.floor, timed(times, floor))
	p.ours = append(p.ours, timed(times, ours))
}

// Medians returns the median time of one run of each function.
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
