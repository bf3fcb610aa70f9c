package view_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

func TestFullInIsToldWhereTheLedgerTells(t *testing.T) {
	given := func(source plan.Source, ages ...time.Duration) []plan.Claim {
		var claims []plan.Claim
		for i, age := range ages {
			claim := plan.Claim{Owner: plan.PortID{Name: "a", Protocol: corev1.ProtocolTCP}, Public: int32(1 + i),
				Source: source, Since: now.Add(-age)}
			if age == 0 {
				claim.Since = time.Time{}
			}
			claims = append(claims, claim)
		}
		return claims
	}
	const day = 24 * time.Hour
	steady := []time.Duration{30 * day, 6 * day, 5 * day, 4 * day, 3 * day, 2 * day, day, day}
	room := plan.Usage{Held: 8, Limit: 15, RangeFree: 70}
	for name, tc := range map[string]struct {
		seen  sight.Sight
		want  time.Duration
		known bool
	}{
		"seven a week, and seven are left": {
			sight.Sight{World: plan.World{Ledger: plan.Reading{Ledger: plan.Ledger{Claims: given(plan.Static, steady...)}}},
				Plan: &plan.Plan{Usage: room}}, 7 * day, true},
		"the range is the tighter one": {
			sight.Sight{World: plan.World{Ledger: plan.Reading{Ledger: plan.Ledger{Claims: given(plan.Auto, steady...)}}},
				Plan: &plan.Plan{Usage: plan.Usage{Held: 8, Limit: 5000, RangeFree: 3}}}, 3 * day, true},
		"nothing is left": {sight.Sight{World: plan.World{
			Ledger: plan.Reading{Ledger: plan.Ledger{Claims: given(plan.Static, steady...)}}},
			Plan: &plan.Plan{Usage: plan.Usage{Held: 8, Limit: 8}}}, 0, true},
		"hardly any port was given": {
			sight.Sight{World: plan.World{Ledger: plan.Reading{Ledger: plan.Ledger{Claims: given(plan.Static, 30*day, day)}}},
				Plan: &plan.Plan{Usage: room}}, 0, false},
		"all ports are an hour old": {sight.Sight{World: plan.World{Ledger: plan.Reading{
			Ledger: plan.Ledger{Claims: given(plan.Static, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour)}}},
			Plan: &plan.Plan{Usage: room}}, 0, false},
		"the original wrote the ledger": {sight.Sight{
			World: plan.World{Ledger: plan.Reading{Ledger: plan.Ledger{Claims: given(plan.Static, 0, 0, 0, 0, 0, 0)}}},
			Plan:  &plan.Plan{Usage: room}}, 0, false},
		"the ledger can't be read": {
			sight.Sight{World: plan.World{Ledger: plan.Reading{Ledger: plan.Ledger{Claims: given(plan.Static, steady...)}}},
				Plan: &plan.Plan{Usage: room}, Unread: sight.Unread{Ledger: "no"}}, 0, false},
	} {
		tc.seen.World.Now, tc.seen.World.Mux = now, &plan.ObservedMux{}
		if got, known := view.FullIn(&tc.seen); known != tc.known || known && got.Round(time.Minute) != tc.want {
			t.Errorf("%s: got %s, %t, want %s", name, got, known, tc.want)
		}
	}
}
