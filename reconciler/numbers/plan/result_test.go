package plan_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

func TestEventIsAWarningOrNormal(t *testing.T) {
	for warning, want := range map[bool]string{true: corev1.EventTypeWarning, false: corev1.EventTypeNormal} {
		if got := (&plan.Event{Warning: warning}).Type(); got != want {
			t.Errorf("warning %t is of type %s", warning, got)
		}
	}
}

func TestNoteOfAnEventFitsIntoKubernetesLimit(t *testing.T) {
	for _, test := range []struct{ message, want string }{
		{strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		{strings.Repeat("a", 1025), strings.Repeat("a", 1021) + "..."},
		{strings.Repeat("a", 1020) + "é" + strings.Repeat("b", 9), strings.Repeat("a", 1020) + "..."},
	} {
		if got := (&plan.Event{Message: test.message}).Note(); got != test.want {
			t.Errorf("%d bytes become %d: %q", len(test.message), len(got), got[1000:])
		}
	}
}
