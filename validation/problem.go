package validation

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Problem is one finding about a Service: a reason to deny it or, among warnings, a remark.
type Problem struct {
	Reason Reason
	// Field is the path of the field, such as metadata.annotations[svc-mux.nowake.ai/external-ports].
	Field string
	// Port is the name of the Service's port concerned, or empty.
	Port string
	// Value is the bad value, unchanged, however long and hostile. Show Message instead.
	Value string
	// Message names the field, the value and the correction, in printable text of limited length.
	Message string
}

// identity decides whether two problems are the same to the ratchet. It has neither the port's index nor the message:
// both change when a port is inserted before this one.
type identity struct {
	reason      Reason
	port, value string
}

func (p Problem) identity() identity { return identity{p.Reason, p.Port, p.Value} }

// Findings are all problems and warnings of a Service, sorted by field.
type Findings struct {
	Problems []Problem // each is a reason to deny
	// Excesses deny a change, too, but don't freeze a mux: an object with more entries than allowed keeps working with
	// all of them, because it may be older than the limit.
	Excesses []Problem
	// Gateways are the problems of settings that only the gateways' controller reads. They deny a change, too, but don't
	// freeze a mux: no port depends on them. The gateways' controller reports them in the mux's conditions.
	Gateways []Problem
	Warnings []Problem
}

// denials returns all reasons to deny, sorted by field.
func (f *Findings) denials() []Problem {
	if len(f.Excesses)+len(f.Gateways) == 0 {
		return f.Problems
	}
	all := slices.Concat(f.Problems, f.Excesses, f.Gateways)
	sortByField(all)
	return all
}

func (f *Findings) problem(reason Reason, path, port, value, text string) {
	f.Problems = append(f.Problems, Problem{reason, path, port, value, text})
}

// exceeds adds an excess for a list that is too long. The excess has no value, so that a change of the list's length
// isn't a new problem to the ratchet.
func (f *Findings) exceeds(reason Reason, path, text string) {
	f.Excesses = append(f.Excesses, Problem{Reason: reason, Field: path, Message: text})
}

func (f *Findings) warn(reason Reason, path, port, value, text string) {
	f.Warnings = append(f.Warnings, Problem{reason, path, port, value, text})
}

func (f *Findings) sort() {
	sortByField(f.Problems)
	sortByField(f.Excesses)
	sortByField(f.Gateways)
	sortByField(f.Warnings)
}

// sortByField sorts by field. Within a field, problems keep the order of the value's entries.
func sortByField(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return compareFields(a.Field, b.Field)
	})
}

// compareFields puts spec.ports[2] before spec.ports[10]: it compares indexes as numbers.
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

// digits returns the number of digits at the start of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// note collects the findings of one annotation.
type note struct {
	to      *Findings
	reason  Reason
	key     string // the annotation's key
	name    string // the key without its prefix, with which messages begin
	value   string // the whole value
	count   int
	warned  int
	stopped bool // the message that reading stopped was added
}

func (n *note) problem(port, value, text string) {
	if n.full() {
		return
	}
	n.count++
	n.to.problem(n.reason, annotationField(n.key), port, value, n.name+": "+text)
}

// checkLength reports a list with more than MaxEntries entries.
func (n *note) checkLength(text func(count int) string) {
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

// full says that maxProblems problems were found, so that the rest isn't parsed. It adds one more problem, which says
// that reading stopped. This problem has the whole value, so that any change of the value is a new problem to the
// ratchet.
func (n *note) full() bool {
	if n.count < maxProblems {
		return false
	}
	if !n.stopped {
		n.stopped = true
		n.to.problem(n.reason, annotationField(n.key), "", n.value, n.name+": "+textTooMany())
	}
	return true
}

func (n *note) clean() bool { return n.count == 0 }

func annotationField(key string) string {
	return field.NewPath("metadata", "annotations").Key(key).String()
}

// portField returns the path of spec.ports[i], or of one of its fields.
func portField(i int, child string) string {
	path := "spec.ports[" + strconv.Itoa(i) + "]"
	if child == "" {
		return path
	}
	return path + "." + child
}
