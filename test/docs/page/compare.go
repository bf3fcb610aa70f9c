package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Any stands for anything within a line, and in a line of its own for any number of lines.
const Any = "…"

// Compare returns an error that says where the printed text differs from the shown text, or nil. The number of blanks
// between words doesn't matter: the width of columns depends on their content.
func Compare(shown, printed string) error {
	want, got := lines(shown), lines(printed)
	if matches(want, got) {
		return nil
	}
	return fmt.Errorf("%s; the page shows:\n%s\nand it printed:\n%s", difference(want, got),
		strings.TrimRight(shown, "\n"), strings.TrimRight(printed, "\n"))
}

// difference names the first printed line that no shown line is like, or else the first shown line that is missing.
func difference(want, got []string) string {
	for _, line := range got {
		if !slices.ContainsFunc(want, func(w string) bool { return like(w, line) }) {
			return fmt.Sprintf("not on the page: %q", line)
		}
	}
	for _, line := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return like(line, g) }) {
			return fmt.Sprintf("not printed: %q", line)
		}
	}
	return "the same lines, in another order"
}

func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == Any {
		for skipped := range len(got) + 1 {
			if matches(want[1:], got[skipped:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && like(want[0], got[0]) && matches(want[1:], got[1:])
}

func like(want, got string) bool {
	parts := strings.Split(want, Any)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}
