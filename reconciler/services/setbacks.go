package services

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// write is a write that can fail alone, while the other writes of a pass succeed.
type write struct {
	what what
	// channel is empty for a write of the mux.
	channel types.NamespacedName
}

type what uint8

const (
	itsPorts   what = iota // a channel's ports on the mux
	itsAddress             // the removal of a channel's address
	itsStatus              // what a channel shows: address, conditions, ports
	notes                  // the annotations for people on the mux
	names                  // the DNS names on the mux
)

// setbacks are writes that failed, and when to try them again.
type setbacks map[write]setback

// setback records when to retry a failed write. The pause grows each time.
type setback struct {
	until time.Time
	pause time.Duration
	// due is true in a pass that retries the write. If the write fails again, a new setback replaces this one.
	due bool
}

// The pauses after a write that failed.
const (
	firstPause   = 2 * time.Second
	longestPause = 5 * time.Minute
)

func (s setback) next(now time.Time) setback {
	pause := min(max(2*s.pause, firstPause), longestPause)
	return setback{until: now.Add(pause), pause: pause}
}

// failed sets the next pause of a write.
func (s setbacks) failed(w write, now time.Time) { s[w] = s[w].next(now) }

// paused returns the channels whose writes of a kind are still in a pause.
func (s setbacks) paused(kind what, now time.Time) map[types.NamespacedName]bool {
	keys := map[types.NamespacedName]bool{}
	for w, is := range s {
		if w.what == kind && now.Before(is.until) {
			keys[w.channel] = true
		}
	}
	return keys
}

// markDue marks the setbacks that are due as a pass begins. Later in the pass the clock doesn't count, even if it was
// set: dropDue must drop exactly the setbacks that were due at the beginning.
func (s setbacks) markDue(now time.Time) {
	for w, is := range s {
		if is.until.Sub(now) > is.pause { // the clock was set back
			is.until = now
		}
		is.due = !is.until.After(now)
		s[w] = is
	}
}

// dropDue forgets the setbacks that were due, after a pass that wrote everything. A write that failed again in that
// pass has a new setback, which stays.
func (s setbacks) dropDue() {
	maps.DeleteFunc(s, func(_ write, is setback) bool { return is.due })
}

// nextTry returns when the first pause ends; zero without one. Due setbacks don't count: the next pass that may write
// retries them.
func (s setbacks) nextTry() time.Time {
	var next time.Time
	for _, is := range s {
		if !is.due {
			next = earlier(next, is.until)
		}
	}
	return next
}
