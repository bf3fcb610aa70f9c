package refusal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefusals(t *testing.T) {
	resource := schema.GroupResource{Resource: "services"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a quota": {apierrors.NewForbidden(resource, "a", errors.New("exceeded quota")), true},
		"a quota, with a path": {fmt.Errorf("ports: %w", apierrors.NewForbidden(resource, "a", errors.New("exceeded quota"))),
			true},
		"an invalid object": {apierrors.NewInvalid(schema.GroupKind{}, "a", nil), true},
		"a bad request":     {apierrors.NewBadRequest("bad"), true},
		"too large":         {apierrors.NewRequestEntityTooLargeError("large"), true},
		"no node ports": {apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full")),
			true},
		"an internal error": {apierrors.NewInternalError(errors.New("webhook")), false},
		"a conflict":        {apierrors.NewConflict(resource, "a", errors.New("changed")), false},
		"a timeout":         {apierrors.NewTimeoutError("late", 1), false},
		"a lost connection": {errors.New("failed to allocate a nodePort"), false},
	} {
		if got := Is(test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWordsAreTheAPIServersAlone(t *testing.T) {
	if got := Words(fmt.Errorf("ports of mux a: %w", apierrors.NewBadRequest("no more"))); got != "no more" {
		t.Errorf("a status: %q", got)
	}
	if got := Words(errors.New("EOF")); got != "EOF" {
		t.Errorf("no status: %q", got)
	}
}

// TestLongWordsAreCutAtACharacter: a webhook's message may have any length.
func TestLongWordsAreCutAtACharacter(t *testing.T) {
	if long := strings.Repeat("ä", maxWords/2); Words(errors.New(long)) != long {
		t.Error("the longest text is cut")
	}
	if got := Words(errors.New("-" + strings.Repeat("ä", maxWords))); len(got) != maxWords+2 || !utf8.ValidString(got) ||
		!strings.HasSuffix(got, "ä...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestOtherNumbersAreTheSameWords(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"used: 3", "used: 12", true},
		{"used: configmaps=3, in all", "used: configmaps=12, in all", true},
		{"used: 3", "other: 3", false},
		{"used", "used up", false},
	} {
		if got := SameWords(test.a, test.b); got != test.want {
			t.Errorf("%q and %q: %t", test.a, test.b, got)
		}
	}
}
