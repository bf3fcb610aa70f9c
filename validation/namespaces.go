package validation

import (
	"slices"
	"strings"
)

// sameNamespace stands for the mux's own namespace. No namespace has this name, because of the capital letter.
const sameNamespace = "Same"

// Namespaces says which namespaces may attach to a mux. The zero value allows none.
type Namespaces struct {
	own   string   // the mux's namespace if the list has Same
	names []string // entries without a star, sorted
	globs []string // entries with a star, sorted
}

// AllNamespaces allows every namespace.
func AllNamespaces() Namespaces { return Namespaces{globs: []string{"*"}} }

// NamespacesNamed allows the given namespaces.
func NamespacesNamed(names ...string) Namespaces {
	return Namespaces{names: slices.Sorted(slices.Values(names))}
}

// Allows says that channels of the namespace may attach.
func (a Namespaces) Allows(namespace string) bool {
	if a.own != "" && a.own == namespace {
		return true
	}
	if _, found := slices.BinarySearch(a.names, namespace); found {
		return true
	}
	return slices.ContainsFunc(a.globs, func(pattern string) bool { return glob(pattern, namespace) })
}

// Equal says that both have the same entries.
func (a Namespaces) Equal(b Namespaces) bool {
	return a.own == b.own && slices.Equal(a.names, b.names) && slices.Equal(a.globs, b.globs)
}

// String returns the entries as a user would write them.
func (a Namespaces) String() string { return strings.Join(a.first(a.len()), ",") }

// Brief is String for messages: its length is limited.
func (a Namespaces) Brief() string { return brief(a.first(maxListed), a.len()) }

func (a Namespaces) len() int {
	count := len(a.names) + len(a.globs)
	if a.own != "" {
		count++
	}
	return count
}

// first returns the first entries, sorted, at most the given number. It examines at most this number of names, and as
// many patterns.
func (a Namespaces) first(most int) []string {
	all := slices.Concat(a.names[:min(len(a.names), most)], a.globs[:min(len(a.globs), most)])
	if a.own != "" {
		all = append(all, sameNamespace)
	}
	slices.Sort(all)
	return all[:min(len(all), most)]
}

// parseNamespaces parses "Same,team-a,team-b-*" on a mux in namespace own.
func parseNamespaces(own string, n *note) Namespaces {
	var allowed Namespaces
	seen := map[string]bool{}
	for entry := range entries(n.value) {
		if n.full() {
			break
		}
		switch {
		case seen[entry]:
			n.problem("", entry, textTwice(entry))
		case entry == sameNamespace:
			allowed.own = own
		case !isNamespacePattern(entry):
			n.problem("", entry, textNamespacePattern(entry))
		case strings.Contains(entry, "*"):
			allowed.globs = append(allowed.globs, entry)
		default:
			allowed.names = append(allowed.names, entry)
		}
		seen[entry] = true
	}
	if seen["same"] {
		n.warn(LikelyTypo, "", "same", textSame())
	}
	slices.Sort(allowed.names)
	slices.Sort(allowed.globs)
	return allowed
}

// isNamespacePattern says that some namespace can match.
func isNamespacePattern(s string) bool {
	return IsLabel(strings.ReplaceAll(s, "*", "x"))
}
