package validation

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func FuzzPortRanges(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{
		"20000-20099,21000", "1-65535", "5-1", "0", "1-10,5", "10-19,1-9", " 1 - 2 ,\n3,", "080", "1--2", "٨", "1-2-3",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		n, found := noteOf(value)
		set := parsePortRanges(n)
		want, ok := plainRanges(value)
		if clean := len(found.Problems) == 0; clean != ok {
			t.Fatalf("accepted: %v, the reference says %v; problems: %v", clean, ok, found.Problems)
		}
		if !ok {
			want = nil
		}
		if got := slices.Collect(set.All()); !slices.Equal(got, want) {
			t.Fatalf("numbers differ from the reference: %v and %v", len(got), len(want))
		}
		if set.Len() != len(want) {
			t.Fatalf("Len is %d, want %d", set.Len(), len(want))
		}
		checkContains(t, set, want)
		again, _ := noteOf(set.String())
		if reread := parsePortRanges(again); !reread.Equal(set) || reread.String() != set.String() {
			t.Fatalf("%q reads as %q after being written out", set, reread)
		}
	})
}

func checkContains(t *testing.T, set PortRanges, want []int32) {
	t.Helper()
	in := map[int32]bool{}
	for _, n := range want {
		in[n] = true
	}
	for n := int32(-1); n <= MaxPort+1; n++ {
		if set.Contains(n) != in[n] {
			t.Fatalf("Contains(%d) is %v", n, !in[n])
		}
	}
	for _, run := range []PortRange{{MinPort, MaxPort}, {1000, 1010}, {20000, 20099}} {
		outside := run.First
		for outside <= run.Last && in[outside] {
			outside++
		}
		if got, is := set.FirstOutside(run); is != (outside <= run.Last) || is && got != outside {
			t.Fatalf("the first number of %s outside is %d (%t), want %d", run, got, is, outside)
		}
	}
}

// plainRanges lists every number, and refuses duplicates.
func plainRanges(value string) (numbers []int32, ok bool) {
	seen := map[int]bool{}
	for _, entry := range plainEntries(value) {
		parts := regexp.MustCompile(`^([^-]*?)(?:\s*-\s*([^-]*))?$`).FindStringSubmatch(entry)
		if parts == nil {
			return nil, false
		}
		if !strings.Contains(entry, "-") {
			parts[2] = parts[1]
		}
		first, ok := plainPort(parts[1])
		last, ok2 := plainPort(parts[2])
		if !ok || !ok2 || first > last {
			return nil, false
		}
		for n := first; n <= last; n++ {
			if seen[n] {
				return nil, false
			}
			seen[n] = true
			numbers = append(numbers, int32(n))
		}
	}
	return numbers, true
}

func FuzzNamespaces(f *testing.F) {
	golden.Seeds(f)
	f.Add("*", "team-a")
	f.Add("Same", "own")
	f.Add("team-*,x*y*z, a", "xyyz")
	f.Add("a,a", "a")
	f.Add("Same,own", "own")
	f.Fuzz(func(t *testing.T, value, namespace string) {
		n, found := noteOf(value)
		allowed := parseNamespaces("own", n)
		patterns := plainEntries(value)
		ok, matches := true, false
		for i, pattern := range patterns {
			plain := len(apivalidation.IsDNS1123Label(strings.ReplaceAll(pattern, "*", "0"))) == 0
			ok = ok && (plain || pattern == "Same") && !slices.Contains(patterns[:i], pattern)
			quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `(?s:.*)`)
			matches = matches || plain && regexp.MustCompile(`\A`+quoted+`\z`).MatchString(namespace) ||
				pattern == "Same" && namespace == "own"
		}
		if clean := len(found.Problems) == 0; clean != ok {
			t.Fatalf("accepted: %v, the reference says %v; problems: %v", clean, ok, found.Problems)
		}
		if !ok {
			return
		}
		if allowed.Allows(namespace) != matches {
			t.Fatalf("%q allows %q: the reference says %v", value, namespace, matches)
		}
		again, _ := noteOf(allowed.String())
		if reread := parseNamespaces("own", again); !reread.Equal(allowed) {
			t.Fatalf("%q reads as %q after being written out", allowed, reread)
		}
	})
}

func FuzzHostnamePatterns(f *testing.F) {
	golden.Seeds(f)
	f.Add("*.example.com", "app.example.com", "team")
	f.Add("*.{namespace}.example.com,www.example.com", "a.team.example.com", "team")
	f.Add("*", "anything", "x")
	f.Add("*.{namespace}.io", "*.team.io", "team")
	f.Add("*.io", "*.io", "team")
	f.Fuzz(func(t *testing.T, value, hostname, namespace string) {
		n, found := noteOf(value)
		allowed := parseHostnamePatterns(n)
		again, problems := noteOf(allowed.String())
		if reread := parseHostnamePatterns(again); len(found.Problems) == 0 &&
			(len(problems.Problems) > 0 || !reread.Equal(allowed)) {
			t.Fatalf("%q reads as %q after being written out", allowed, reread)
		}
		if len(found.Problems) > 0 || !IsLabel(namespace) || !isHostname(strings.TrimPrefix(hostname, "*.")) {
			return
		}
		want := false
		for _, pattern := range allowed.patterns {
			want = want || plainHostnameMatch(pattern, hostname, namespace)
		}
		if allowed.In(namespace).Allows(hostname) != want {
			t.Fatalf("%q allows %q of %q: the reference says %v", value, hostname, namespace, want)
		}
	})
}

func plainHostnameMatch(pattern, hostname, namespace string) bool {
	if pattern == "*" {
		return true
	}
	star := `[^.*]*`
	if strings.HasPrefix(hostname, "*.") {
		if !strings.HasPrefix(pattern, "*.") || !strings.Contains(pattern, "{namespace}") {
			return false
		}
		pattern, hostname = pattern[2:], hostname[2:]
	}
	var expression []string
	for _, part := range strings.Split(strings.ReplaceAll(pattern, "{namespace}", namespace), "*") {
		expression = append(expression, regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(`\A` + strings.Join(expression, star) + `\z`).MatchString(hostname)
}

func FuzzProtocols(f *testing.F) {
	golden.Seeds(f)
	for _, seed := range []string{"TCP,UDP", "tcp", "sctp, ", "TCP,tcp", "HTTP", "\u017fCTP"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		n, found := noteOf(value)
		allowed := parseProtocols(n)
		seen, ok := map[string]bool{}, true
		for _, entry := range plainEntries(value) {
			name := strings.ToUpper(entry)
			ok = ok && isASCII(entry) && slices.Contains([]string{"TCP", "UDP", "SCTP"}, name) && !seen[name]
			seen[name] = true
		}
		if clean := len(found.Problems) == 0; clean != ok {
			t.Fatalf("accepted: %v, the reference says %v; problems: %v", clean, ok, found.Problems)
		}
		if again, _ := noteOf(allowed.String()); parseProtocols(again) != allowed {
			t.Fatalf("%q reads differently after being written out", allowed)
		}
	})
}
