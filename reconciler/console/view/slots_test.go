package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// TestNumbersInGraceAreShown checks numbers that only the ledger knows.
func TestNumbersInGraceAreShown(t *testing.T) {
	claim := func(number int32, state plan.State) plan.Claim {
		return plan.Claim{
			Owner: plan.PortID{Channel: types.NamespacedName{Namespace: "shop", Name: "gone"}, Name: "http",
				Protocol: corev1.ProtocolTCP},
			Public: number, State: state, Until: now.Add(time.Hour),
		}
	}
	until := now.Add(time.Hour)
	seen := &sight.Sight{
		World: plan.World{Key: muxKey, Mux: &plan.ObservedMux{},
			Ledger: plan.Reading{Ledger: plan.Ledger{Claims: []plan.Claim{
				claim(1, plan.Held), claim(2, plan.Releasing), claim(3, plan.InGrace), claim(4, plan.Held),
			}}}},
		Plan: &plan.Plan{InForce: []plan.Claim{claim(1, plan.Held)}},
	}
	want := []view.Slot{
		{Number: 1, Protocol: "TCP", State: "held", Channel: "shop/gone", Port: "http"},
		{Number: 2, Protocol: "TCP", State: "releasing", Channel: "shop/gone", Port: "http"},
		{Number: 3, Protocol: "TCP", State: "grace", Channel: "shop/gone", Port: "http", Until: &until},
		{Number: 4, Protocol: "TCP", State: "withheld", Channel: "shop/gone", Port: "http"},
	}
	if diff := cmp.Diff(want, view.Of(seen).Slots); diff != "" {
		t.Error(diff)
	}
}
