package validation

import (
	"slices"
	"strings"
)

// HostnameMatcher says which DNS names the channels of one namespace may publish. For many names, make it once:
// Hostnames.In inserts the namespace into the patterns and indexes them, so that each name is compared with few of
// them.
type HostnameMatcher struct {
	all     bool
	names   patternSet
	domains patternSet // domains whose wildcard names are allowed
}

// patternSet indexes patterns: those without a star by name, the others by their number of labels.
type patternSet struct {
	exact map[string]bool
	globs map[int][][]string // each pattern as a list of labels
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
	if s.globs == nil {
		s.globs = map[int][][]string{}
	}
	labels := strings.Split(pattern, ".")
	s.globs[len(labels)] = append(s.globs[len(labels)], labels)
}

// has compares label by label, so that a star never spans a dot. It starts with the last label, where patterns differ
// from most names.
func (s *patternSet) has(name string) bool {
	if s.exact[name] {
		return true
	}
	if len(s.globs) == 0 {
		return false
	}
	labels := strings.Split(name, ".")
	return slices.ContainsFunc(s.globs[len(labels)], func(pattern []string) bool {
		for i := len(labels) - 1; i >= 0; i-- {
			if !glob(pattern[i], labels[i]) {
				return false
			}
		}
		return true
	})
}
