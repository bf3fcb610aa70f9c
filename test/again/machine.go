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
	// look is the interval between two readings of the clock. window is the interval for which stolen time is measured.
	look   = 100 * time.Millisecond
	window = 30 * time.Second
	// stood is the shortest standstill that excuses a failure: Kubernetes' timeouts notice it. taken is the same limit
	// for stolen time, in percent of the time that processes wanted.
	stood = 2 * time.Second
	taken = 30
)

// strain is a period in which the machine gave processes too little time.
type strain struct {
	from, to time.Time
	still    time.Duration // how late this process was scheduled
	taken    int           // time stolen by the host, in percent of the processor time that was wanted
}

func (s strain) excuses() bool { return s.still >= stood || s.taken >= taken }

// strains holds the periods that excuse a failure, and the worst values of all periods.
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

// during returns whether a period that excuses a failure overlaps the given time.
func (s *strains) during(from, to time.Time) bool {
	return slices.ContainsFunc(s.all, func(one strain) bool { return one.from.Before(to) && one.to.After(from) })
}

func (s strains) String() string {
	return fmt.Sprintf(
		"the machine stood still for %s at the longest, and its host took %d %% of its time in the worst %s",
		s.worst.still.Round(10*time.Millisecond), s.worst.taken, window)
}

// watch measures in the background until the returned function is called.
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

// times holds ticks of all processors, as the kernel counts them.
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

// readTimes returns zero values on systems without /proc.
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
