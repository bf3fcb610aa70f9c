package validation

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// Every parser is fuzzed three ways. It never panics. An accepted value reads the same after being written out. And it
// agrees with a reference below, which is slow, obvious, and uses regular expressions.

func noteOf(value string) (*note, *Findings) {
	found := &Findings{}
	return &note{to: found, reason: "Fuzz", key: "key", name: "name", value: value}, found
}

// plainEntries implements the grammar of lists.
func plainEntries(value string) []string {
	var all []string
	for _, entry := range strings.Split(value, ",") {
		entry = regexp.MustCompile(`^\s+|\s+$`).ReplaceAllString(entry, "")
		if entry != "" {
			all = append(all, entry)
		}
	}
	return all
}

// plainPort implements the grammar of port numbers.
func plainPort(s string) (int, bool) {
	if !regexp.MustCompile(`^(0|[1-9][0-9]*)$`).MatchString(s) || len(s) > 9 {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= 65535
}

func FuzzLabels(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{"a", "-a", "a-", "A", "a.b", "", strings.Repeat("a", 63), strings.Repeat("a", 64), "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if want := len(apivalidation.IsDNS1123Label(s)) == 0; IsLabel(s) != want {
			t.Fatalf("label: Kubernetes says %v", want)
		}
		if want := len(apivalidation.IsDNS1123Subdomain(s)) == 0; isDNSName(s) != want {
			t.Fatalf("DNS name: Kubernetes says %v", want)
		}
	})
}

func FuzzScalars(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{"10m", "-1s", "+1s", "1", "0", "2147483647", "2147483648", "080", "a.b", "keep", "1e3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if value = trim(value); isEmptyList(value) {
			return // such values are refused before parsing
		}
		check := func(what string, ok bool, parse func(*note)) {
			n, found := noteOf(value)
			if parse(n); (len(found.Problems) == 0) != ok {
				t.Fatalf("%s: the reference says %v; problems: %v", what, ok, found.Problems)
			}
		}
		limit, err := strconv.Atoi(value)
		check("cap", err == nil && limit >= 1 && limit <= MaxCap && strconv.Itoa(limit) == value,
			func(n *note) { parseCap(n) })
		grace, err := time.ParseDuration(value)
		check("grace", err == nil && grace >= 0 && !strings.HasPrefix(value, "+") && !strings.HasPrefix(value, "-"),
			func(n *note) {
				if again, _ := time.ParseDuration(parseGrace(n).String()); err == nil && n.clean() && again != grace {
					t.Fatalf("%s reads as %s after being written out", grace, again)
				}
			})
		check("ledger", len(apivalidation.IsDNS1123Subdomain(value)) == 0, func(n *note) { parseConfigMapName(n) })
		check("placeholder", value == "keep" || value == "remove", func(n *note) { parsePlaceholder(n) })
	})
}
