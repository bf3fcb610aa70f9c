package mux

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// TestMissingBackendsCountAfterAPause: a slice that is deleted and written again changes no condition.
func TestMissingBackendsCountAfterAPause(t *testing.T) {
	m, web, now := newMemory(budget.Limit{}), types.NamespacedName{Namespace: "app", Name: "web"}, time.Unix(1_000_000, 0)
	for _, step := range []struct {
		after   time.Duration
		is      plan.Backing
		want    plan.Backing
		isAsked bool
	}{
		{0, plan.Backed, plan.Backed, false},
		{time.Second, plan.NotCarried, plan.Unknown, true},
		{time.Second, plan.Backed, plan.Backed, false},
		{time.Second, plan.NotCarried, plan.Unknown, true},
		{uncarriedPause - 1, plan.NotCarried, plan.Unknown, true},
		{1, plan.NotCarried, plan.NotCarried, false},
		{-time.Hour, plan.NotCarried, plan.Unknown, true},
		{uncarriedPause, plan.NotCarried, plan.NotCarried, false},
		{time.Second, plan.Unbacked, plan.Unbacked, false},
	} {
		now = now.Add(step.after)
		if got := m.settleBacking(web, step.is, now); got != step.want {
			t.Errorf("after %s, %s counts as %s, want %s", step.after, step.is, got, step.want)
		}
		if asked := !m.nextUncarried(now).IsZero(); asked != step.isAsked {
			t.Errorf("after %s, %s causes another pass: %t", step.after, step.is, asked)
		}
	}
}
