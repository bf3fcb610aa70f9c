package validation_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/validation"
)

func load(t testing.TB) (validation.Language, []corpus.Case) {
	t.Helper()
	lang, err := corpus.Language()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := corpus.Load()
	if err != nil {
		t.Fatal(err)
	}
	return lang, cases
}

func TestCorpus(t *testing.T) {
	lang, cases := load(t)
	if len(cases) < 200 {
		t.Errorf("the corpus has %d Services, want 200 or more", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			before := c.Service.DeepCopy()
			verdict := lang.Review(c.Old, c.Service)
			lang.Typos(c.Service)
			expect(t, "denied", c.Deny, verdict.Denied)
			expect(t, "tolerated", c.Tolerated, verdict.Tolerated)
			expect(t, "warned of", c.Warn, verdict.Warnings)
			if diff := cmp.Diff(before, c.Service); diff != "" {
				t.Errorf("the Service was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func expect(t *testing.T, what string, want []corpus.Expect, got []validation.Problem) {
	t.Helper()
	if diff := cmp.Diff(want, corpus.Of(got), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestEveryReasonIsInTheCorpus(t *testing.T) {
	lang, cases := load(t)
	seen := map[validation.Reason]bool{}
	for _, c := range cases {
		found := lang.Check(c.Service)
		for _, p := range append(found.Problems, found.Warnings...) {
			seen[p.Reason] = true
		}
	}
	source, err := os.ReadFile("reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for line := range strings.Lines(string(source)) {
		_, value, found := strings.Cut(strings.TrimSpace(line), ` Reason = "`)
		if !found {
			continue
		}
		declared++
		if reason := validation.Reason(strings.TrimSuffix(value, `"`)); !seen[reason] {
			t.Errorf("no Service of the corpus shows %s", reason)
		}
	}
	if declared != len(seen) {
		t.Errorf("reasons.go declares %d reasons, the corpus shows %d", declared, len(seen))
	}
}

func TestMessagesArePrintable(t *testing.T) {
	const bound = 500 // kubectl and the API server cut only longer warnings
	lang, cases := load(t)
	for _, c := range cases {
		found := lang.Check(c.Service)
		for _, p := range slices.Concat(found.Problems, found.Warnings, lang.Typos(c.Service)) {
			if len(p.Message) > bound || !utf8.ValidString(p.Message) {
				t.Errorf("%s: message of %d bytes: %.80q", c.Name(), len(p.Message), p.Message)
			}
			if i := strings.IndexFunc(p.Message, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%s: unprintable byte at %d in %q", c.Name(), i, p.Message)
			}
		}
	}
}

// TestMessages compares the messages that users read with a golden file. Review its diff like a change of the
// documentation.
func TestMessages(t *testing.T) {
	lang, cases := load(t)
	var b strings.Builder
	for _, c := range cases {
		verdict := lang.Review(c.Old, c.Service)
		said := printed("denied", verdict.Denied) + printed("tolerated", verdict.Tolerated) +
			printed("warning", verdict.Warnings) + printed("in a file, warning", lang.Typos(c.Service))
		if said != "" {
			fmt.Fprintf(&b, "%s\n%s\n", c.Name(), said)
		}
	}
	golden.File(t, "testdata/messages.golden", b.String())
}

// printed formats the first three problems.
func printed(what string, problems []validation.Problem) string {
	var b strings.Builder
	for i, p := range problems {
		if i == 3 && len(problems) > 4 && i < len(problems)-1 {
			fmt.Fprintf(&b, "  %s: ... %d more ...\n", what, len(problems)-4)
		}
		if i < 3 || i == len(problems)-1 {
			fmt.Fprintf(&b, "  %s: %s: %s\n", what, p.Reason, p.Message)
		}
	}
	return b.String()
}
