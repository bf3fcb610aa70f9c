package validation

import (
	"slices"
	"strings"
)

// namespacePlaceholder stands for the channel's namespace in allowed-hostnames.
const namespacePlaceholder = "{namespace}"

// Hostnames says which DNS names channels may publish on a mux. The zero value allows none.
type Hostnames struct {
	patterns []string // sorted
}

// AllHostnames allows every name.
func AllHostnames() Hostnames { return Hostnames{patterns: []string{"*"}} }

// Equal says that both have the same patterns.
func (a Hostnames) Equal(b Hostnames) bool { return slices.Equal(a.patterns, b.patterns) }

// String returns the patterns as a user would write them.
func (a Hostnames) String() string { return strings.Join(a.patterns, ",") }

// Brief is String for messages: its length is limited.
func (a Hostnames) Brief() string { return brief(a.patterns, len(a.patterns)) }

// parseHostnamePatterns parses "*.{namespace}.example.com,www.example.com".
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

// isHostnamePattern says that some DNS name can match the pattern, which is in lower case.
func isHostnamePattern(pattern string) bool {
	plain := strings.ReplaceAll(strings.ReplaceAll(pattern, namespacePlaceholder, "n"), "*", "x")
	return isHostname(plain)
}

// parseHostnames parses "app.example.com,*.app.example.com" and sorts the names.
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

// canonicalName returns the same text for names that are equal in DNS.
func canonicalName(s string) string {
	return strings.TrimSuffix(lower(s), ".")
}

// isWildHostname says that s is a DNS name, or a wildcard of one.
func isWildHostname(s string) bool {
	return len(s) <= maxDNSName && isHostname(strings.TrimPrefix(s, "*."))
}

// isHostname says that s is a valid DNS name: labels of up to 63 characters. The last label must not be all digits, as
// in an IP address.
func isHostname(s string) bool {
	if len(s) > maxDNSName {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if !IsLabel(label) {
			return false
		}
		last = label
	}
	return digits(last) < len(last)
}
