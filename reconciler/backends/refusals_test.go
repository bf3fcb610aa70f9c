package backends

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefusalsOfTheAPIServer(t *testing.T) {
	resource := schema.GroupResource{Resource: "endpointslices"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a quota":            {apierrors.NewForbidden(resource, "a", errors.New("exceeded quota")), true},
		"an invalid slice":   {apierrors.NewInvalid(schema.GroupKind{}, "a", nil), true},
		"a bad request":      {apierrors.NewBadRequest("bad"), true},
		"an admission error": {apierrors.NewInternalError(errors.New("webhook")), true},
		"too large":          {apierrors.NewRequestEntityTooLargeError("large"), true},
		"a conflict":         {apierrors.NewConflict(resource, "a", errors.New("changed")), false},
		"a timeout":          {apierrors.NewTimeoutError("late", 1), false},
		"a lost connection":  {errors.New("EOF"), false},
	} {
		if got := isRefusal(test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWordsOfARefusal(t *testing.T) {
	quota := func(text string) error { return apierrors.NewBadRequest(text) }
	if got := wordsOf(errors.New("EOF"), ""); got != "EOF" {
		t.Errorf("no status: %q", got)
	}
	if got := wordsOf(quota("used: 12"), "used: 3"); got != "used: 3" {
		t.Errorf("another number: %q", got)
	}
	if got := wordsOf(quota("other: 12"), "used: 3"); got != "other: 12" {
		t.Errorf("other words: %q", got)
	}
	if got := wordsOf(quota(strings.Repeat("é", maxWords/2)), ""); len(got) != maxWords {
		t.Errorf("the longest: %d bytes", len(got))
	}
	if got := wordsOf(quota(strings.Repeat("é", maxWords)), ""); len(got) != maxWords+3 || !strings.HasSuffix(got, "é...") {
		t.Errorf("too long: %q", got)
	}
}
