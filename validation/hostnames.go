package validation

import (
	"slices"
	"strings"
)

// namespacePlaceholder stands, in allowed-hostnames, for the channel's namespace.
const namespacePlaceholder = "{namespace}"

// Hostnames says which DNS names channels may gather on a mux. The zero value allows none.
type Hostnames struct {
	patterns []string // sorted
}

// AllHostnames allows every name.
func AllHostnames() Hostnames { return Hostnames{patterns: []string{"*"}} }

// Equal is true if both were written alike, order aside.
func (a Hostnames) Equal(b Hostnames) bool { return slices.Equal(a.patterns, b.patterns) }

// String returns the grammar it is read in.
func (a Hostnames) String() string { return strings.Join(a.patterns, ",") }

// Brief is String for a sentence: bounded, however many names are allowed.
func (a Hostnames) Brief() string { return brief(a.patterns, len(a.patterns)) }

// parseHostnamePatterns reads "*.{namespace}.example.com,www.example.com".
func parseHostnamePatterns(n *note) Hostnames {
	var allowed Hostnames
	seen := map[string]bool{}
	for entry := range entries(n.value) {
		if n.full() {
			break
		}
		pattern := canonicalName(entry)
		switch {
		case seen[pattern]:
			n.problem("", entry, textTwice(entry))
		case !isHostnamePattern(pattern):
			n.problem("", entry, textHostnamePattern(entry))
		}
		seen[pattern] = true
		allowed.patterns = append(allowed.patterns, pattern)
	}
	slices.Sort(allowed.patterns)
	return allowed
}

// isHostnamePattern is true if some DNS name could match. Only the lower-case placeholder is one.
func isHostnamePattern(pattern string) bool {
	plain := strings.ReplaceAll(strings.ReplaceAll(pattern, namespacePlaceholder, "n"), "*", "x")
	return isHostname(plain)
}

// parseHostnames reads "app.example.com,*.app.example.com", sorted.
func parseHostnames(n *note) []string {
	var names []string
	seen := map[string]bool{}
	for entry := range entries(n.value) {
		if n.full() {
			break
		}
		name := canonicalName(entry)
		switch {
		case seen[name]:
			n.problem("", entry, textTwice(entry))
		case !isWildHostname(name):
			n.problem("", entry, textHostname(entry))
		}
		seen[name] = true
		names = append(names, name)
	}
	if count := len(names); count > MaxHostnames {
		n.problem("", "", textTooManyHostnames(count))
	}
	slices.Sort(names)
	return names
}

// canonicalName makes names equal that DNS holds equal.
func canonicalName(s string) string {
	return strings.TrimSuffix(lower(s), ".")
}

// isWildHostname is true for a DNS name or a wildcard of one.
func isWildHostname(s string) bool {
	return len(s) <= maxDNSName && isHostname(strings.TrimPrefix(s, "*."))
}

// isHostname is true for a name that DNS could hold: labels of up to 63, the last not all digits, or it would be an
// IP address.
func isHostname(s string) bool {
	if len(s) > maxDNSName {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if !isLabel(label) {
			return false
		}
		last = label
	}
	return digits(last) < len(last)
}
