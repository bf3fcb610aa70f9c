package faults

import (
	"slices"
	"strings"
)

// Match selects requests. Empty fields match any request, and all others must match.
type Match struct {
	// Verbs are API verbs. Writes() returns all verbs that change objects.
	Verbs []string
	// Group is an API group. "core" is the group without a name.
	Group string
	// Resource is written as in RBAC: "services" doesn't include "services/status", "services/*" includes both. It can
	// also be a path without a resource, such as "/readyz".
	Resource string
	// Namespace and Name are those of the request: a watch of all namespaces has none.
	Namespace, Name string
	User            string
	// Func decides last, for example Request.IsWrite. The proxy may call it under a lock, so it must not call the
	// proxy.
	Func func(Request) bool
}

// matches returns whether a request is selected.
func (m Match) matches(r Request) bool {
	return (len(m.Verbs) == 0 || slices.Contains(m.Verbs, r.Verb)) &&
		m.matchesGroup(r.Group) &&
		m.matchesResource(r) &&
		isAnyOr(m.Namespace, r.Namespace) &&
		isAnyOr(m.Name, r.Name) &&
		isAnyOr(m.User, r.User) &&
		(m.Func == nil || m.Func(r))
}

func isAnyOr(wanted, actual string) bool { return wanted == "" || wanted == actual }

func (m Match) matchesGroup(group string) bool {
	if group == "" {
		group = "core"
	}
	return isAnyOr(m.Group, group)
}

func (m Match) matchesResource(r Request) bool {
	if m.Resource == "" {
		return true
	}
	if r.Resource == "" {
		return m.Resource == r.Path
	}
	resource, subresource, _ := strings.Cut(m.Resource, "/")
	return resource == r.Resource && (subresource == "*" || subresource == r.Subresource)
}
