package webhook

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/validation"
)

func problems(count int, text string) []validation.Problem {
	var all []validation.Problem
	for range count {
		all = append(all, validation.Problem{Message: text})
	}
	return all
}

func TestToleratedProblemsComeFirst(t *testing.T) {
	got := warnings(validation.Verdict{Tolerated: problems(1, "disabled: is empty"), Warnings: problems(1, "odd")})
	want := []string{"was there before, and is refused in new objects: disabled: is empty", "odd"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWarningsStayWithinKubernetesLimits(t *testing.T) {
	tests := map[string]struct {
		verdict validation.Verdict
		lines   int
		last    string
	}{
		"a short warning is unchanged": {validation.Verdict{Warnings: problems(1, "odd")}, 1, "odd"},
		"256 characters fit": {validation.Verdict{Warnings: problems(1, strings.Repeat("ö", 256))}, 1,
			strings.Repeat("ö", 256)},
		"257 characters are cut": {validation.Verdict{Warnings: problems(1, strings.Repeat("ö", 257))}, 1,
			strings.Repeat("ö", 255) + "…"},
		"a cut is made after a word": {validation.Verdict{Warnings: problems(1, strings.Repeat("word ", 60))}, 1,
			strings.TrimSpace(strings.Repeat("word ", 51)) + "…"},
		"many tolerated problems": {validation.Verdict{Tolerated: problems(1000, strings.Repeat("x", 300))}, 16,
			"and 985 more"},
		"many short warnings": {validation.Verdict{Warnings: problems(5000, "odd")}, 1355, "and 3646 more"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := warnings(tc.verdict)
			if len(got) != tc.lines || got[len(got)-1] != tc.last {
				t.Errorf("%d lines, the last one %q; want %d, %q", len(got), got[len(got)-1], tc.lines, tc.last)
			}
			checkWarnings(t, got)
		})
	}
}

// checkWarnings checks that any answer's warnings are within the limits.
func checkWarnings(t *testing.T, lines []string) {
	t.Helper()
	total := 0
	for _, line := range lines {
		total += len(line)
		if line == "" || utf8.RuneCountInString(line) > 256 || strings.ContainsAny(line, "\n\r") || !utf8.ValidString(line) {
			t.Errorf("a warning with invalid characters: %q", line)
		}
	}
	if total > 4096 {
		t.Errorf("warnings have %d bytes", total)
	}
}
