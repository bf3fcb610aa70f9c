package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTwoRetriesInTenRunsAreADefect plays runs that share a history.
func TestTwoRetriesInTenRunsAreADefect(t *testing.T) {
	a, b := retry{pkg: "example.com/a", test: "TestA"}, retry{pkg: "example.com/b", test: "TestA"}
	none := []retry(nil)
	for name, c := range map[string]struct {
		runs [][]retry
		want bool // the last run passes
	}{
		"the first retry":                 {[][]retry{{a}}, true},
		"a second retry":                  {[][]retry{{a}, {a}}, false},
		"a second retry after other runs": {[][]retry{{a}, none, none, none, none, none, none, none, none, {a}}, false},
		"the first retry is forgotten": {[][]retry{{a}, none, none, none, none, none, none, none, none, none, {a}},
			true},
		"a test of that name of another one": {[][]retry{{a}, {b}}, true},
		"one of two tests":                   {[][]retry{{b}, {a, b}}, false},
		"a run without retries after two":    {[][]retry{{a}, {a}, none}, true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "retries")
			var out strings.Builder
			var got bool
			for i, retries := range c.runs {
				got = judge(&out, file, time.Unix(int64(i), 0), retries)
			}
			if got != c.want || strings.Contains(out.String(), "aren't counted") {
				t.Errorf("the last run passes: %v, want %v:\n%s", got, c.want, out.String())
			}
		})
	}
}

// TestUnusableHistoryFailsNoRun uses a folder as the file, and no file.
func TestUnusableHistoryFailsNoRun(t *testing.T) {
	var out strings.Builder
	if !judge(&out, t.TempDir(), time.Now(), []retry{{pkg: "a", test: "TestA"}}) ||
		!strings.Contains(out.String(), "aren't counted") {
		t.Errorf("the run fails, or nothing is reported:\n%s", out.String())
	}
	if !judge(&out, "", time.Now(), nil) {
		t.Error("without a history the run fails")
	}
}

// TestRunFailsForADefect runs again twice: the same test needs a retry in both runs, and passes then.
func TestRunFailsForADefect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "retries")
	for i, want := range []int{0, 1} {
		outcomes := []outcome{
			{code: 1, complete: true, failed: []failure{{name: "a", ended: time.Unix(9, 0), tests: []string{"TestA"}}}},
			{complete: true},
		}
		calls := 0
		var out strings.Builder
		code := run(&out, nil, []string{"./..."}, func(_ io.Writer, _ []string) outcome { calls++; return outcomes[calls-1] },
			func() strains { return strains{all: []strain{{to: time.Unix(99, 0), still: stood}}} }, file)
		if code != want || !strings.Contains(out.String(), "again: retried TestA of a") {
			t.Errorf("run %d ends with %d, want %d:\n%s", i, code, want, out.String())
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\ta.TestA\n") != 2 {
		t.Errorf("the history is %q, %v", text, err)
	}
}
