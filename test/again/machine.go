package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// look is how often the machine is looked at, and window for how long it must have been taken away to count.
	look   = 100 * time.Millisecond
	window = 30 * time.Second
	// stood is a standstill that Kubernetes notices, and taken a share of the time that was wanted, in percent.
	stood = 2 * time.Second
	taken = 30
)

// strain is what the machine lacked for some time.
type strain struct {
	from, to time.Time
	still    time.Duration // nothing ran that should have
	taken    int           // by the host, of the processors' time that was wanted, in percent
}

func (s strain) excuses() bool { return s.still >= stood || s.taken >= taken }

// strains are those that excuse a failure, and the worst of all.
type strains struct {
	worst strain
	all   []strain
}

func (s *strains) add(one strain) {
	s.worst.still, s.worst.taken = max(s.worst.still, one.still), max(s.worst.taken, one.taken)
	if one.excuses() {
		s.all = append(s.all, one)
	}
}

// during is true if there was one in that time.
func (s *strains) during(from, to time.Time) bool {
	return slices.ContainsFunc(s.all, func(one strain) bool { return one.from.Before(to) && one.to.After(from) })
}

func (s strains) String() string {
	return fmt.Sprintf("the machine stood still for %s at the longest, and its host took %d %% of its time in the worst %s",
		s.worst.still.Round(10*time.Millisecond), s.worst.taken, window)
}

// watch looks until it is asked.
func watch() func() strains {
	stop, result := make(chan struct{}), make(chan strains)
	before, began := readTimes(), time.Now()
	go func() {
		var seen strains
		for last, asked := began, false; !asked; last = time.Now() {
			select {
			case <-stop:
				asked = true
			case <-time.After(look):
			}
			now := time.Now()
			seen.add(strain{from: last, to: now, still: now.Sub(last) - look})
			if now.Sub(began) >= window {
				times := readTimes()
				seen.add(strain{from: began, to: now, taken: times.since(before).share()})
				before, began = times, now
			}
		}
		result <- seen
	}()
	return func() strains {
		close(stop)
		return <-result
	}
}

// times are the processors', in the kernel's ticks.
type times struct{ worked, stolen int }

func (t times) since(before times) times {
	return times{worked: t.worked - before.worked, stolen: t.stolen - before.stolen}
}

func (t times) share() int {
	if t.worked+t.stolen <= 0 {
		return 0
	}
	return 100 * t.stolen / (t.worked + t.stolen)
}

// readTimes knows nothing where there is no /proc.
func readTimes() times {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return times{}
	}
	return parseTimes(string(text))
}

// parseTimes reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
func parseTimes(text string) (t times) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return t
	}
	for i, field := range fields[1:9] {
		ticks, err := strconv.Atoi(field)
		switch {
		case err != nil:
			return times{}
		case i == 7:
			t.stolen = ticks
		case i != 3 && i != 4:
			t.worked += ticks
		}
	}
	return t
}
