package validation

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestIndexedPatternsAllowWhatEachPatternAllows compares the index with a regular expression for each pattern.
func TestIndexedPatternsAllowWhatEachPatternAllows(t *testing.T) {
	label := rapid.SampledFrom([]string{"a", "ab", "abc", "b", "a-b"})
	starred := rapid.SampledFrom([]string{"*", "a*", "*b", "a*c", "{namespace}", "{namespace}-*", "a", "ab", "b"})
	join := func(labels []string) string { return strings.Join(labels, ".") }
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(starred, 1, 4), join), 1, 6).Draw(t, "patterns")
		name := rapid.Map(rapid.SliceOfN(label, 1, 4), join).Draw(t, "name")
		want := slices.ContainsFunc(patterns, func(pattern string) bool {
			text := regexp.QuoteMeta(strings.ReplaceAll(pattern, namespacePlaceholder, "a"))
			return pattern == "*" || regexp.MustCompile("^"+strings.ReplaceAll(text, `\*`, "[^.]*")+"$").MatchString(name)
		})
		if got := (Hostnames{patterns: patterns}).In("a").Allows(name); got != want {
			t.Errorf("%q allow %s: %v, want %v", patterns, name, got, want)
		}
	})
}
