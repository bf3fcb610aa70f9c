package ledger

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// Board holds the claims in force of every mux, in memory. The mux line writes them after each pass; backends and
// console read them. It is safe for concurrent use, as long as only one goroutine at a time sets each mux. It returns
// copies.
type Board struct {
	changed func(channels []types.NamespacedName)

	mu    sync.RWMutex
	muxes map[types.NamespacedName]*sheet
}

// sheet holds the claims of one mux. The board replaces sheets and never changes one.
type sheet struct {
	claims    []plan.Claim // sorted
	byChannel map[types.NamespacedName][]plan.Claim
	ledger    *plan.Ledger
}

// NewBoard returns an empty board. When claims change, the board calls changed with their channels, sorted, after the
// new claims can be read. changed may be nil.
func NewBoard(changed func(channels []types.NamespacedName)) *Board {
	if changed == nil {
		changed = func([]types.NamespacedName) {}
	}
	return &Board{changed: changed, muxes: map[types.NamespacedName]*sheet{}}
}

// Set replaces the claims in force of a mux: plan.Plan.InForce. From now on, LastGood returns the given ledger. With
// nil, for a mux that is frozen, it returns the same ledger as before.
func (b *Board) Set(mux types.NamespacedName, inForce []plan.Claim, ledger *plan.Ledger) {
	before := b.sheet(mux)
	next := newSheet(inForce, before)
	if ledger != nil {
		good := ledger.Clone()
		next.ledger = &good
	}
	b.mu.Lock()
	b.muxes[mux] = next
	b.mu.Unlock()
	b.tell(before, next)
}

// Forget drops a mux that is gone.
func (b *Board) Forget(mux types.NamespacedName) {
	before := b.sheet(mux)
	b.mu.Lock()
	delete(b.muxes, mux)
	b.mu.Unlock()
	b.tell(before, &sheet{})
}

// Known returns the claims that a channel has in force on a mux, sorted by public port, then protocol. It returns false
// if no pass has decided about the mux yet: then it isn't known whether the channel has claims.
func (b *Board) Known(channel, mux types.NamespacedName) ([]plan.Claim, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s, known := b.muxes[mux]
	if !known {
		return nil, false
	}
	return slices.Clone(s.byChannel[channel]), true
}

// Claims returns all claims in force on a mux, sorted by public port, then protocol.
func (b *Board) Claims(mux types.NamespacedName) []plan.Claim {
	return slices.Clone(b.sheet(mux).claims)
}

// LastGood returns the ledger that was last in force in this process: plan.Memory.LastGood. It is nil if there was
// none.
func (b *Board) LastGood(mux types.NamespacedName) *plan.Ledger {
	s := b.sheet(mux)
	if s.ledger == nil {
		return nil
	}
	good := s.ledger.Clone()
	return &good
}

// sheet returns the sheet of a mux, or an empty one if the board doesn't know the mux.
func (b *Board) sheet(mux types.NamespacedName) *sheet {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if s := b.muxes[mux]; s != nil {
		return s
	}
	return &sheet{}
}

// newSheet makes the next sheet. If the claims are the same as before, which is the usual case, it shares them with the
// sheet before.
func newSheet(inForce []plan.Claim, before *sheet) *sheet {
	sorted := plan.Ledger{Claims: slices.Clone(inForce)}
	sorted.Sort()
	if plan.SameClaims(sorted.Claims, before.claims) {
		next := *before
		return &next
	}
	next := &sheet{claims: sorted.Claims, ledger: before.ledger, byChannel: map[types.NamespacedName][]plan.Claim{}}
	for _, claim := range next.claims {
		next.byChannel[claim.Owner.Channel] = append(next.byChannel[claim.Owner.Channel], claim)
	}
	return next
}

// tell calls changed with the channels whose claims differ.
func (b *Board) tell(before, after *sheet) {
	var channels []types.NamespacedName
	for channel, claims := range after.byChannel {
		if !plan.SameClaims(claims, before.byChannel[channel]) {
			channels = append(channels, channel)
		}
	}
	for channel := range before.byChannel {
		if _, stays := after.byChannel[channel]; !stays {
			channels = append(channels, channel)
		}
	}
	if len(channels) > 0 {
		slices.SortFunc(channels, plan.CompareKeys)
		b.changed(channels)
	}
}
