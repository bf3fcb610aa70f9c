package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// lastRuns is how many runs the history holds. A test that was retried in defective of them has a defect.
const lastRuns, defective = 10, 2

// history is the runs before, oldest first: a line each, with the time and the retried tests, separated by tabs.
type history struct {
	file  string
	lines []string
}

// readHistory returns an empty history if there is no file yet.
func readHistory(file string) (history, error) {
	h := history{file: file}
	text, err := os.ReadFile(file) //nolint:gosec // the caller's own file
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for line := range strings.Lines(string(text)) {
		h.lines = append(h.lines, strings.TrimSuffix(line, "\n"))
	}
	return h, err
}

// add adds a run.
func (h *history) add(at time.Time, retries []retry) {
	fields := []string{at.UTC().Format(time.RFC3339)}
	for _, r := range retries {
		fields = append(fields, r.String())
	}
	h.lines = append(h.lines, strings.Join(fields, "\t"))
	h.lines = h.lines[max(len(h.lines)-lastRuns, 0):]
}

// count returns in how many runs a test was retried.
func (h *history) count(r retry) (runs int) {
	for _, line := range h.lines {
		if slices.Contains(strings.Split(line, "\t")[1:], r.String()) {
			runs++
		}
	}
	return runs
}

func (h *history) write() error {
	return os.WriteFile(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o644) //nolint:gosec // it has no secrets
}

// judge adds a run to the history in a file, if there is one. It returns false if one of the run's retried tests has a
// defect. A history that can't be read or written doesn't fail the run.
func judge(out io.Writer, file string, at time.Time, retries []retry) bool {
	if file == "" {
		return true
	}
	h, err := readHistory(file)
	h.add(at, retries)
	if err == nil {
		err = h.write()
	}
	if err != nil {
		fmt.Fprintln(out, "again: retries aren't counted:", err)
		return true
	}
	passes := true
	for _, r := range retries {
		if runs := h.count(r); runs >= defective {
			fmt.Fprintf(out, "again: %s of %s was retried in %d of the last %d runs: that is a defect of the test or of the "+
				"product, so this run fails\n", r.test, r.pkg, runs, len(h.lines))
			passes = false
		}
	}
	return passes
}
