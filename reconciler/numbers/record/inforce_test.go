package record

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

func one(generation int64) plan.Ledger {
	return plan.Ledger{Mux: mux, Generation: generation, Claims: withNumber(80)}
}

func TestContinues(t *testing.T) {
	two := claims(2)
	released := one(2)
	released.Claims[0].State = plan.Releasing
	other := one(2)
	other.Claims[0].Owner.Channel = types.NamespacedName{Namespace: "app", Name: "other"}
	port := one(2)
	port.Claims[0].Owner.Name = "another"
	gone := released
	for name, test := range map[string]struct {
		next, old plan.Reading
		want      bool
	}{
		"the same claim":         {plan.Reading{Ledger: one(2)}, plan.Reading{Ledger: one(1)}, true},
		"of one generation":      {plan.Reading{Ledger: one(2)}, plan.Reading{Ledger: one(2)}, false},
		"of an older generation": {plan.Reading{Ledger: one(1)}, plan.Reading{Ledger: one(2)}, false},
		"a claim more": {plan.Reading{Ledger: plan.Ledger{Generation: 2, Claims: two}},
			plan.Reading{Ledger: plan.Ledger{Claims: two[:1]}}, true},
		"a claim less": {plan.Reading{Ledger: plan.Ledger{Generation: 2, Claims: two[:1]}},
			plan.Reading{Ledger: plan.Ledger{Claims: two}}, false},
		"it is let go":         {plan.Reading{Ledger: released}, plan.Reading{Ledger: one(1)}, true},
		"it is another port's": {plan.Reading{Ledger: port}, plan.Reading{Ledger: one(1)}, false},
		"it is another's":      {plan.Reading{Ledger: other}, plan.Reading{Ledger: one(1)}, false},
		"what went is gone":    {plan.Reading{Ledger: plan.Ledger{Generation: 3}}, plan.Reading{Ledger: gone}, true},
		"it can't be read": {plan.Reading{Condition: plan.Unreadable, Ledger: one(2)}, plan.Reading{Ledger: one(1)},
			false},
		"the old one can't":     {plan.Reading{Ledger: one(2)}, plan.Reading{Condition: plan.Newer, Ledger: one(1)}, false},
		"the old one is edited": {plan.Reading{Ledger: one(2)}, plan.Reading{Condition: plan.Edited, Ledger: one(1)}, true},
	} {
		if got := (&Read{Reading: test.next}).continues(&Read{Reading: test.old}); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestMuxNamesLedgerThatDoesNotExist: the ConfigMap was deleted, or another writer changed the annotation of the mux.
// Nobody edited the ledger.
func TestMuxNamesLedgerThatDoesNotExist(t *testing.T) {
	wanted := &Read{plan.Reading{Name: "ledger", Ledger: one(2)}, true}
	got := InForce(Ask{Name: "ledger", InForce: "foo", Stamp: 2}, wanted, nil)
	if got.Condition != plan.Edited || got.Gone != "foo" || got.Name != "ledger" {
		t.Errorf("got %+v", got)
	}
	edited := &Read{plan.Reading{Name: "ledger", Condition: plan.Edited, Ledger: one(2)}, true}
	if got := InForce(Ask{Name: "ledger", InForce: "ledger", Stamp: 2}, edited, nil); got.Condition != plan.Edited ||
		got.Gone != "" {
		t.Errorf("an edited ledger: got %+v", got)
	}
}

func TestLedgerInForceIsFoundWhileItMoves(t *testing.T) {
	here := func(name string, generation int64, ours bool) *Read {
		return &Read{plan.Reading{Name: name, Ledger: one(generation)}, ours}
	}
	for name, test := range map[string]struct {
		ask         Ask
		wanted, old *Read
		want        string
		moved       bool
	}{
		"no ConfigMap":          {ask: Ask{Name: "new"}},
		"one that doesn't move": {ask: Ask{Name: "new", InForce: "new"}, wanted: here("new", 1, true), want: "new"},
		"the owner renames it": {ask: Ask{Name: "new", InForce: "old", Stamp: 1}, old: here("old", 1, true),
			want: "old", moved: true},
		"it is under both names": {ask: Ask{Name: "new", InForce: "old", Stamp: 1}, wanted: here("new", 2, true),
			old: here("old", 1, true), want: "new"},
		"a leftover of a move": {ask: Ask{Name: "new", InForce: "old", Stamp: 2}, wanted: here("new", 1, true),
			old: here("old", 2, true), want: "old", moved: true},
		"one of the same generation": {ask: Ask{Name: "new", InForce: "old", Stamp: 2}, wanted: here("new", 2, true),
			old: here("old", 2, true), want: "old", moved: true},
		"another's has the name": {ask: Ask{Name: "new", InForce: "old", Stamp: 1}, wanted: here("new", 1, false),
			old: here("old", 1, true), want: "new"},
		"the old one is another's": {ask: Ask{Name: "new", InForce: "old"}, old: here("old", 1, false)},
	} {
		got := InForce(test.ask, test.wanted, test.old)
		if lost := test.want == ""; (got.Condition == plan.Missing) != lost || !lost && got.Name != test.want ||
			got.Moved != test.moved {
			t.Errorf("%s: got %s, condition %d, moved %t", name, got.Name, got.Condition, got.Moved)
		}
	}
}
