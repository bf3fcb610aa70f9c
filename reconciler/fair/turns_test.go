package fair

import (
	"runtime"
	"sync"
	"testing"
)

func TestANamespaceTakesNoMoreTurnsThanItsShare(t *testing.T) {
	turns := &Turns{share: 2, namespaces: map[string]*turns{}}
	var mu sync.Mutex
	busy, most := 0, 0
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			giveBack := turns.Take("slow")
			defer giveBack()
			mu.Lock()
			busy++
			most = max(most, busy)
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			busy--
			mu.Unlock()
		})
	}
	all.Wait()
	if most > 2 {
		t.Errorf("%d turns at once", most)
	}
	if len(turns.namespaces) > 0 {
		t.Errorf("%d namespaces without a turn are remembered", len(turns.namespaces))
	}
}

// TestATurnOfOneNamespaceIsNoneOfAnother would never end if turns were shared.
func TestATurnOfOneNamespaceIsNoneOfAnother(t *testing.T) {
	turns := &Turns{share: 1, namespaces: map[string]*turns{}}
	defer turns.Take("slow")()
	turns.Take("quick")()
}

func TestEveryNamespaceHasATurn(t *testing.T) {
	if NewTurns().share < 1 {
		t.Error("the namespace has no turn")
	}
}
