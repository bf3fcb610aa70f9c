package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Entry is the log's record of a request.
type Entry struct {
	Request
	Start time.Time
	Took  time.Duration // 0 while open
	Open  bool
	// Made is true once the API server has answered.
	Made bool
	// Status is the status of the client's answer; 0 without one.
	Status int
	// Rules are the names of the rules that acted.
	Rules []string
	// Err is the reason why the client got no answer.
	Err error
}

// String returns one line without times, so that logs of two runs can be compared.
func (e Entry) String() string {
	var line strings.Builder
	fmt.Fprintf(&line, "%s: %s", e.Request, e.outcome())
	if len(e.Rules) > 0 {
		fmt.Fprintf(&line, " [%s]", strings.Join(e.Rules, ", "))
	}
	if !e.Made {
		line.WriteString(" (not made)")
	}
	return line.String()
}

func (e Entry) outcome() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Status != 0:
		return fmt.Sprint(e.Status)
	case e.Open:
		return "open"
	}
	return "unanswered"
}

// ring holds the latest entries, as many as size says.
type ring struct {
	size  int
	kept  []*Entry
	start int // index of the oldest entry, once full
}

func (r *ring) add(entry *Entry) {
	switch {
	case r.size <= 0:
	case len(r.kept) < r.size:
		r.kept = append(r.kept, entry)
	default:
		r.kept[r.start] = entry
		r.start = (r.start + 1) % r.size
	}
}

func (r *ring) entries() []Entry {
	entries := make([]Entry, 0, len(r.kept))
	for _, entry := range slices.Concat(r.kept[r.start:], r.kept[:r.start]) {
		copied := *entry
		copied.Rules = slices.Clone(entry.Rules)
		entries = append(entries, copied)
	}
	return entries
}
