package validation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	names := []string{"http", "https", "grpc", "metrics", "ui"}
	for name, c := range map[string]struct{ typed, want string }{
		"two letters swapped":               {"grcp", "grpc"},
		"a missing letter":                  {"htp", "http"},
		"two missing letters":               {"metis", "metrics"},
		"a surplus letter":                  {"metricss", "metrics"},
		"two wrong letters of a short name": {"xy", ""},
		"three wrong letters":               {"metxyzs", ""},
		"no similar name":                   {"postgres", ""},
		"the closest of two":                {"httpss", "https"},
		"a very long name":                  {strings.Repeat("http", 20), ""},
		"an empty name":                     {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(c.typed, names); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestNoSuggestionAmongVeryManyPorts checks that a Service with more than maxMeant ports gets no suggestion: it may
// have 25,000 ports, and each comparison of names takes time.
func TestNoSuggestionAmongVeryManyPorts(t *testing.T) {
	lang := language(t)
	for ports, want := range map[int]string{
		maxMeant: `port "pot-7" is not one of this Service's ports (port-0, port-1, port-2, port-3, port-4, port-5, ` +
			`port-6, port-7 and 248 more): did you mean port-7?`,
		maxMeant +
			1: `port "pot-7" is not one of this Service's ports (port-0, port-1, port-2, port-3, port-4, port-5, port-6, ` +
			`port-7 and 249 more): use one of these names, or remove the entry`,
	} {
		svc := manyPorts(lang, ports)
		svc.Annotations[lang.Keys().ExternalPorts] = "pot-7:auto"
		_, found := lang.ParseChannel(svc)
		if len(found.Problems) != 1 {
			t.Fatalf("of %d ports: %v", ports, found.Problems)
		}
		if diff := cmp.Diff("external-ports: "+want, found.Problems[0].Message); diff != "" {
			t.Errorf("of %d ports (-want +got):\n%s", ports, diff)
		}
	}
}

func TestWarningsAreBoundedAndDeterministic(t *testing.T) {
	lang := language(t)
	svc := hundredPorts(lang)
	svc.Annotations = unknownAnnotations(500)
	first := lang.Check(svc)
	if len(first.Warnings) != maxProblems {
		t.Errorf("got %d warnings, want %d", len(first.Warnings), maxProblems)
	}
	for range 10 {
		if diff := cmp.Diff(first, lang.Check(svc)); diff != "" {
			t.Fatalf("two reviews of one Service differ:\n%s", diff)
		}
	}
}

func TestFieldsSortIndexesAsNumbers(t *testing.T) {
	want := []string{
		"metadata.annotations[a/b]", "metadata.annotations[a/c]", "metadata.name", "spec.ports", "spec.ports[2].name",
		"spec.ports[2].port", "spec.ports[10].name", "spec.type",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareFields)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
