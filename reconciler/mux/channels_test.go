package mux

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// tally counts fights.
type tally struct {
	Metrics
	repeated map[types.NamespacedName]int
}

func (t tally) Repeated(mux types.NamespacedName) { t.repeated[mux]++ }

// TestAFightOverAChannelIsItsMuxs: the first correction is none yet, and what has to wait isn't counted.
func TestAFightOverAChannelIsItsMuxs(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	counts := tally{repeated: map[types.NamespacedName]int{}}
	l := New(Options{Metrics: counts, Now: func() time.Time { return now }})
	mux := types.NamespacedName{Namespace: "infra", Name: "mux"}
	patches := []plan.ChannelPatch{
		{Channel: types.NamespacedName{Namespace: "shop", Name: "changed"}, Drift: true},
		{Channel: types.NamespacedName{Namespace: "shop", Name: "new"}},
	}
	for _, wait := range []time.Duration{0, time.Second, 0, 2 * time.Second} {
		now = now.Add(wait)
		l.inTurn(mux, patches)
	}
	if got := counts.repeated[mux]; got != 2 || len(counts.repeated) != 1 {
		t.Errorf("counted %v, want 2 of %s", counts.repeated, mux)
	}
}
