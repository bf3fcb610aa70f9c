package ledger

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

func claimOf(channel string, public int32) plan.Claim {
	return plan.Claim{Public: public, Since: moment, Owner: plan.PortID{
		Channel: types.NamespacedName{Namespace: "app", Name: channel}, Name: "http", Protocol: "TCP"}}
}

func channel(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "app", Name: name}
}

func knownOf(board *Board, name string, mux types.NamespacedName) []plan.Claim {
	claims, _ := board.Known(channel(name), mux)
	return claims
}

func TestBoard(t *testing.T) {
	var told []types.NamespacedName
	board := NewBoard(func(channels []types.NamespacedName) {
		if len(channels) == 0 {
			t.Error("it tells that nothing has changed")
		}
		told = append(told, channels...)
	})
	expect := func(what string, want ...types.NamespacedName) {
		t.Helper()
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
		told = nil
	}
	a, b, c := claimOf("a", 80), claimOf("b", 81), claimOf("c", 82)
	board.Set(mux, []plan.Claim{b, a}, nil)
	expect("at first all", channel("a"), channel("b"))
	board.Set(mux, []plan.Claim{a, b}, nil)
	expect("then nothing")
	a.Since = a.Since.In(time.FixedZone("elsewhere", 3600))
	board.Set(mux, []plan.Claim{a, b}, nil)
	expect("the same moment elsewhere")
	b.MuxName = "other"
	board.Set(mux, []plan.Claim{a, b, c}, nil)
	expect("one that changed and one that came", channel("b"), channel("c"))
	b.MuxName = "and another"
	board.Set(mux, []plan.Claim{a, b, c}, nil)
	expect("one that changed", channel("b"))
	board.Set(mux, []plan.Claim{b, c}, nil)
	expect("one that went", channel("a"))
	board.Forget(mux)
	expect("all that went", channel("b"), channel("c"))
	if _, known := board.Known(channel("b"), mux); known || board.Claims(mux) != nil || board.LastGood(mux) != nil {
		t.Error("something stayed")
	}
}

func TestBoardShowsWhatWasSet(t *testing.T) {
	board := NewBoard(nil)
	other := types.NamespacedName{Namespace: "svc-mux", Name: "other"}
	first, second := claimOf("a", 443), claimOf("a", 80)
	second.Owner.Name = "plain"
	board.Set(other, nil, nil)
	board.Set(mux, []plan.Claim{first, claimOf("b", 81), second}, &plan.Ledger{Mux: mux, Generation: 3})
	for what, diff := range map[string]string{
		"of a channel":      cmp.Diff([]plan.Claim{second, first}, knownOf(board, "a", mux)),
		"all":               cmp.Diff([]plan.Claim{second, claimOf("b", 81), first}, board.Claims(mux)),
		"on another mux":    cmp.Diff([]plan.Claim(nil), knownOf(board, "a", other)),
		"the last ledger":   cmp.Diff(&plan.Ledger{Mux: mux, Generation: 3}, board.LastGood(mux)),
		"where none was":    cmp.Diff((*plan.Ledger)(nil), board.LastGood(other)),
		"of nobody we know": cmp.Diff([]plan.Claim(nil), knownOf(board, "z", mux)),
	} {
		if diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
}

// TestANewTimeIsAChange: a claim with another time is a change, even if channel, number and name are the same. The same
// moment in another time zone is no change.
func TestANewTimeIsAChange(t *testing.T) {
	told := 0
	board := NewBoard(func([]types.NamespacedName) { told++ })
	claim, noon := claimOf("a", 80), time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for i, times := range [][2]time.Time{{noon, {}}, {noon.Add(time.Second), {}}, {noon.Add(time.Second), noon},
		{noon.Add(time.Second).In(time.FixedZone("", 3600)), noon}} {
		claim.Since, claim.Until = times[0], times[1]
		board.Set(mux, []plan.Claim{claim}, nil)
		if known := knownOf(board, "a", mux); len(known) != 1 || !known[0].Since.Equal(times[0]) ||
			!known[0].Until.Equal(times[1]) || told != min(i+1, 3) {
			t.Errorf("step %d: %v, told %d times", i, known, told)
		}
	}
}

func TestNoClaimsIsSomethingElseThanNoMux(t *testing.T) {
	board := NewBoard(nil)
	board.Set(mux, []plan.Claim{claimOf("a", 80)}, nil)
	for name, want := range map[string]int{"a": 1, "b": 0} {
		if claims, known := board.Known(channel(name), mux); len(claims) != want || !known {
			t.Errorf("%s has %v, known: %v", name, claims, known)
		}
	}
	if claims, known := board.Known(channel("a"), channel("mux")); claims != nil || known {
		t.Errorf("where there is no mux it has %v, known: %v", claims, known)
	}
}

func TestTheLastLedgerStaysWhileThereIsNone(t *testing.T) {
	board := NewBoard(nil)
	board.Set(mux, []plan.Claim{claimOf("a", 80)}, &plan.Ledger{Mux: mux, Generation: 3})
	board.Set(mux, nil, nil)
	if got := board.LastGood(mux); got == nil || got.Generation != 3 {
		t.Errorf("it is %v", got)
	}
}

// TestNobodyChangesTheBoard: only Set changes the board. Its arguments and results are copies.
func TestNobodyChangesTheBoard(t *testing.T) {
	board := NewBoard(nil)
	set := []plan.Claim{claimOf("a", 80), claimOf("b", 81)}
	ledger := plan.Ledger{Mux: mux, Claims: set}
	board.Set(mux, set, &ledger)
	for _, claims := range [][]plan.Claim{set, board.Claims(mux), knownOf(board, "a", mux), board.LastGood(mux).Claims} {
		for i := range claims {
			claims[i].Public = 9
		}
	}
	want := []plan.Claim{claimOf("a", 80), claimOf("b", 81)}
	if diff := cmp.Diff(want, board.Claims(mux)) + cmp.Diff(want[:1], knownOf(board, "a", mux)) +
		cmp.Diff(want, board.LastGood(mux).Claims); diff != "" {
		t.Error(diff)
	}
}

// TestManyReadWhileOneWrites is for the race detector. It also checks that new claims can be read when the board
// reports their change.
func TestManyReadWhileOneWrites(t *testing.T) {
	var board *Board
	var all sync.WaitGroup
	goes := false
	board = NewBoard(func(channels []types.NamespacedName) {
		for _, c := range channels {
			if len(knownOf(board, c.Name, mux)) == 0 != (goes && c.Name == "goes") {
				t.Errorf("%s was told too early", c)
			}
		}
	})
	board.Set(mux, []plan.Claim{claimOf("goes", 1)}, nil)
	goes = true
	done := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_, _, _ = knownOf(board, "a", mux), board.Claims(mux), board.LastGood(mux)
				}
			}
		})
	}
	for i := range 200 {
		board.Set(mux, []plan.Claim{claimOf("a", int32(80+i)), claimOf("b", 443)}, &plan.Ledger{Generation: int64(i)})
	}
	close(done)
	all.Wait()
}
