package validation

import (
	"slices"
	"strings"
)

// Starred returns with how many patterns a name is compared at most. It doesn't count patterns without a star, and
// patterns whose only star is their whole first label, such as *.example.com: the index finds those.
func (a Hostnames) Starred() (count int) {
	for _, pattern := range a.patterns {
		if rest, simple := strings.CutPrefix(pattern, "*."); strings.Contains(pattern, "*") &&
			(!simple || strings.Contains(rest, "*")) {
			count++
		}
	}
	return count
}

// HostnameMatcher says which DNS names the channels of one namespace may publish. For many names, make it once:
// Hostnames.In inserts the namespace into the patterns and indexes them, so that each name is compared with few of
// them.
type HostnameMatcher struct {
	all     bool
	names   patternSet
	domains patternSet // domains whose wildcard names are allowed
}

// patternSet indexes patterns: those without a star by name, the others by their domain.
type patternSet struct {
	exact map[string]bool
	globs map[domain][][]string // the labels of each pattern, without those of the domain
}

// domain is what follows the last label with a star in a pattern, and how many labels precede it.
type domain struct {
	below   string // such as .example.com
	starred int
}

// In returns the matcher for the channels of a namespace.
//
// A wildcard record answers for every name below it without a record of its own. So the pattern *.example.com allows
// app.example.com, but not the name *.example.com, which would catch the names of others. A pattern whose domain
// belongs to the namespace, such as *.{namespace}.example.com, allows its wildcard, too.
func (a Hostnames) In(namespace string) HostnameMatcher {
	var m HostnameMatcher
	for _, pattern := range a.patterns {
		if pattern == "*" {
			return HostnameMatcher{all: true}
		}
		m.names.add(pattern, namespace)
		if domain, wild := strings.CutPrefix(pattern, "*."); wild && strings.Contains(domain, namespacePlaceholder) {
			m.domains.add(domain, namespace)
		}
	}
	return m
}

// Allows says that a channel of the namespace may have the name.
func (m HostnameMatcher) Allows(hostname string) bool {
	if m.all {
		return true
	}
	if domain, wild := strings.CutPrefix(hostname, "*."); wild {
		return m.domains.has(domain)
	}
	return m.names.has(hostname)
}

func (s *patternSet) add(pattern, namespace string) {
	pattern = strings.ReplaceAll(pattern, namespacePlaceholder, namespace)
	if !strings.Contains(pattern, "*") {
		if s.exact == nil {
			s.exact = map[string]bool{}
		}
		s.exact[pattern] = true
		return
	}
	end := strings.LastIndexByte(pattern, '*')
	end += len(pattern[end:]) - len(afterLabel(pattern[end:]))
	labels := strings.Split(pattern[:end], ".")
	if s.globs == nil {
		s.globs = map[domain][][]string{}
	}
	in := domain{pattern[end:], len(labels)}
	s.globs[in] = append(s.globs[in], labels)
}

// afterLabel returns the text from the first dot on.
func afterLabel(text string) string {
	if dot := strings.IndexByte(text, '.'); dot >= 0 {
		return text[dot:]
	}
	return ""
}

// has says that a pattern matches the name. It compares label by label, so that a star never spans a dot, and only with
// patterns of the domains that the name is in.
func (s *patternSet) has(name string) bool {
	if s.exact[name] {
		return true
	}
	if len(s.globs) == 0 {
		return false
	}
	labels := strings.Split(name, ".")
	below := name
	for i := range labels {
		below = below[len(labels[i]):]
		if slices.ContainsFunc(s.globs[domain{below, i + 1}], func(pattern []string) bool {
			return globAll(pattern, labels[:i+1])
		}) {
			return true
		}
		below = strings.TrimPrefix(below, ".")
	}
	return false
}

// globAll compares label by label. It starts with the last one, in which most names differ from the patterns.
func globAll(patterns, labels []string) bool {
	for i := len(labels) - 1; i >= 0; i-- {
		if !glob(patterns[i], labels[i]) {
			return false
		}
	}
	return true
}
