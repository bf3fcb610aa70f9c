package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSimilarProblemsAreReportedOnce(t *testing.T) {
	a := Problem{InvalidPortMapping, "x", "http", "http:1", "twice"}
	otherValue := Problem{InvalidPortMapping, "x", "http", "http:2", "twice"}
	otherField := Problem{InvalidPortMapping, "y", "http", "http:1", "twice"}
	with := func(p Problem, message string) Problem {
		p.Message = message
		return p
	}
	for name, c := range map[string]struct{ found, want []Problem }{
		"none":              {nil, nil},
		"one":               {[]Problem{a}, []Problem{a}},
		"another field":     {[]Problem{a, otherField}, []Problem{a, otherField}},
		"another value":     {[]Problem{a, otherValue}, []Problem{with(a, "twice (and 1 more like it)")}},
		"others in between": {[]Problem{a, otherField, a, a}, []Problem{with(a, "twice (and 2 more like it)"), otherField}},
		"another message":   {[]Problem{a, with(a, "also")}, []Problem{a, with(a, "also")}},
	} {
		t.Run(name, func(t *testing.T) {
			before := append([]Problem(nil), c.found...)
			if diff := cmp.Diff(c.want, mergeAlike(c.found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, c.found); diff != "" {
				t.Errorf("the findings were changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestRatchetComesBeforeTheCount changes the order of two problems with the same text. Both are old, so neither denies.
func TestRatchetComesBeforeTheCount(t *testing.T) {
	lang := language(t)
	old, changed := hundredPorts(lang), hundredPorts(lang)
	name := old.Spec.Ports[0].Name
	key := lang.Keys().ExternalPorts
	old.Annotations = map[string]string{key: name + ":1," + name + ":2," + name + ":3"}
	changed.Annotations = map[string]string{key: name + ":1," + name + ":3," + name + ":2"}
	verdict := lang.Review(old, changed)
	if len(verdict.Denied) != 0 || len(verdict.Tolerated) != 1 {
		t.Errorf("denied %v, tolerated %v; want both as one tolerated problem", verdict.Denied, verdict.Tolerated)
	}
	if verdict = lang.Review(nil, changed); len(verdict.Denied) != 1 {
		t.Errorf("denied %v; want one line", verdict.Denied)
	}
	if found := lang.Check(changed); len(found.Problems) != 1 {
		t.Errorf("found %v; want one line", found.Problems)
	}
}
