package view

import (
	"testing"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// TestWaitingEditOfAnIncumbentShowsThatItKeepsItsPorts also checks that a newcomer on a frozen mux is shown as waiting.
func TestWaitingEditOfAnIncumbentShowsThatItKeepsItsPorts(t *testing.T) {
	for want, verdict := range map[string]plan.Verdict{
		channelKeeps:   {Reason: plan.Waiting, Programmed: true},
		channelWaiting: {Reason: plan.Waiting},
	} {
		if got := channelState(&verdict, nil, true); got != want {
			t.Errorf("a channel with %+v is shown as %q, want %q", verdict, got, want)
		}
	}
}
