package validation

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Problem is one thing to say about a Service: a reason to deny it or, among warnings, something to know.
type Problem struct {
	Reason Reason
	// Field is the path of the object's part, such as metadata.annotations[svc-mux.nowake.ai/external-ports].
	Field string
	// Port is the name of the Service's port concerned, if it is one.
	Port string
	// Value is the offending value as it was found, however long and strange: show Message instead.
	Value string
	// Message names the part, the value and the way out, in printable text of bounded length.
	Message string
}

// identity is what makes two problems the same one to the ratchet. An index or a message would make an old
// problem look new when another port is added in front of it.
type identity struct {
	reason      Reason
	port, value string
}

func (p Problem) identity() identity { return identity{p.Reason, p.Port, p.Value} }

// Findings is all there is to say about a Service, sorted by field.
type Findings struct {
	Problems []Problem // each is a reason to deny
	// Excesses are reasons to deny a change too. They freeze nothing: what has more entries than allowed works with all of
	// them, because it may be older than the limit.
	Excesses []Problem
	Warnings []Problem
}

// denials returns all reasons to deny, sorted by field.
func (f *Findings) denials() []Problem {
	if len(f.Excesses) == 0 {
		return f.Problems
	}
	all := slices.Concat(f.Problems, f.Excesses)
	sortByField(all)
	return all
}

func (f *Findings) problem(reason Reason, path, port, value, text string) {
	f.Problems = append(f.Problems, Problem{reason, path, port, value, text})
}

// exceeds adds a list that is too long. It has no value: a longer or shorter list is no news to the ratchet.
func (f *Findings) exceeds(reason Reason, path, text string) {
	f.Excesses = append(f.Excesses, Problem{Reason: reason, Field: path, Message: text})
}

func (f *Findings) warn(reason Reason, path, port, value, text string) {
	f.Warnings = append(f.Warnings, Problem{reason, path, port, value, text})
}

func (f *Findings) sort() {
	sortByField(f.Problems)
	sortByField(f.Excesses)
	sortByField(f.Warnings)
}

// sortByField keeps the order of discovery within a field: that of the value's own entries.
func sortByField(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return compareFields(a.Field, b.Field)
	})
}

// compareFields puts spec.ports[2] before spec.ports[10]: indexes compare as numbers.
func compareFields(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		if na, nb := digits(a), digits(b); na > 0 && nb > 0 {
			if order := cmp.Or(cmp.Compare(na, nb), cmp.Compare(a[:na], b[:nb])); order != 0 {
				return order
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// note is where a parser says what is wrong with one annotation.
type note struct {
	to     *Findings
	reason Reason
	key    string // the annotation's key
	name   string // its short name, which messages begin with
	value  string // its whole value
	count  int
	warned int
	closed bool // the last word is said
}

func (n *note) problem(port, value, text string) {
	if n.full() {
		return
	}
	n.count++
	n.to.problem(n.reason, annotationField(n.key), port, value, n.name+": "+text)
}

// bound reports a list with more than MaxEntries entries.
func (n *note) bound(text func(count int) string) {
	count := 0
	for range entries(n.value) {
		count++
	}
	if count > MaxEntries {
		n.to.exceeds(n.reason, annotationField(n.key), n.name+": "+text(count))
	}
}

func (n *note) warn(reason Reason, port, value, text string) {
	if n.warned++; n.warned <= maxProblems {
		n.to.warn(reason, annotationField(n.key), port, value, n.name+": "+text)
	}
}

// full is true once as much has been found as will be told. The rest then goes unread; the last word carries the
// whole value, so that to the ratchet any change of it is news.
func (n *note) full() bool {
	if n.count < maxProblems {
		return false
	}
	if !n.closed {
		n.closed = true
		n.to.problem(n.reason, annotationField(n.key), "", n.value, n.name+": "+textTooMany())
	}
	return true
}

func (n *note) clean() bool { return n.count == 0 }

func annotationField(key string) string {
	return field.NewPath("metadata", "annotations").Key(key).String()
}

// portField is spec.ports[i], or one of its fields.
func portField(i int, child string) string {
	path := "spec.ports[" + strconv.Itoa(i) + "]"
	if child == "" {
		return path
	}
	return path + "." + child
}
