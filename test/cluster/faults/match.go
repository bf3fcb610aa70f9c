package faults

import (
	"slices"
	"strings"
)

// Match says which requests a rule is about. What is left empty matches any; all that is said must hold.
type Match struct {
	// Verbs are API verbs; Writes() lists those that change something.
	Verbs []string
	// Group is an API group, "core" for the one without a name.
	Group string
	// Resource is written as in RBAC: "services" isn't "services/status", "services/*" is both. A path that is no
	// resource's ("/readyz") can stand here too.
	Resource string
	// Namespace and Name are the request's: a watch of all namespaces has none.
	Namespace, Name string
	User            string
	// Func has the last word. Request.IsWrite is a useful one. It may be called under a lock, so it mustn't call
	// the proxy.
	Func func(Request) bool
}

// matches says whether the request is one of those meant.
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
