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
		"two letters swapped":          {"grcp", "grpc"},
		"a letter missing":             {"htp", "http"},
		"two letters missing":          {"metis", "metrics"},
		"one too many":                 {"metricss", "metrics"},
		"two wrong in a short name":    {"xy", ""},
		"three wrong":                  {"metxyzs", ""},
		"nothing like it":              {"postgres", ""},
		"the closest of two is taken":  {"httpss", "https"},
		"a very long one is not tried": {strings.Repeat("http", 20), ""},
		"an empty one":                 {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(c.typed, names); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWarningsAreBoundedAndAlwaysTheSame(t *testing.T) {
	lang := language(t)
	svc := hundredPorts(lang)
	svc.Annotations = unknownAnnotations(500)
	first := lang.Check(svc)
	if len(first.Warnings) != maxProblems {
		t.Errorf("got %d warnings, want %d", len(first.Warnings), maxProblems)
	}
	for range 10 {
		if diff := cmp.Diff(first, lang.Check(svc)); diff != "" {
			t.Fatalf("the same Service is judged differently:\n%s", diff)
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
