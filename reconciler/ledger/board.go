package ledger

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Board shows the claims in force of every mux. The mux line writes on it after each pass; backends and console read.
// It is safe for all of them at once, as long as each mux is set by one at a time. What it returns is the caller's.
type Board struct {
	changed func(channels []types.NamespacedName)

	mu    sync.RWMutex
	muxes map[types.NamespacedName]*sheet
}

// sheet is one mux's. It is replaced, never changed.
type sheet struct {
	claims    []plan.Claim // sorted
	byChannel map[types.NamespacedName][]plan.Claim
	ledger    *plan.Ledger
}

// NewBoard returns an empty board. Whenever claims change, it calls changed with the channels concerned, sorted,
// once they can be read; changed may be nil.
func NewBoard(changed func(channels []types.NamespacedName)) *Board {
	if changed == nil {
		changed = func([]types.NamespacedName) {}
	}
	return &Board{changed: changed, muxes: map[types.NamespacedName]*sheet{}}
}

// Set replaces the claims in force of a mux: plan.Plan.InForce. The ledger is what LastGood returns from now on; nil
// leaves that as it is, for a mux whose ledger can't be gone by.
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

// Forget takes a mux that is gone off the board.
func (b *Board) Forget(mux types.NamespacedName) {
	b.mu.Lock()
	before := b.muxes[mux]
	delete(b.muxes, mux)
	b.mu.Unlock()
	b.tell(before, nil)
}

// Of returns the claims that a channel has in force on a mux, sorted by public port, then protocol.
func (b *Board) Of(channel, mux types.NamespacedName) []plan.Claim {
	if s := b.sheet(mux); s != nil {
		return slices.Clone(s.byChannel[channel])
	}
	return nil
}

// Claims returns all claims in force on a mux, sorted by public port, then protocol.
func (b *Board) Claims(mux types.NamespacedName) []plan.Claim {
	if s := b.sheet(mux); s != nil {
		return slices.Clone(s.claims)
	}
	return nil
}

// Muxes returns the muxes on the board, sorted.
func (b *Board) Muxes() []types.NamespacedName {
	b.mu.RLock()
	defer b.mu.RUnlock()
	keys := make([]types.NamespacedName, 0, len(b.muxes))
	for key := range b.muxes {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, plan.CompareKeys)
	return keys
}

// LastGood returns the ledger that was last in force here: plan.World.LastGood. It is nil if there was none.
func (b *Board) LastGood(mux types.NamespacedName) *plan.Ledger {
	s := b.sheet(mux)
	if s == nil || s.ledger == nil {
		return nil
	}
	good := s.ledger.Clone()
	return &good
}

func (b *Board) sheet(mux types.NamespacedName) *sheet {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.muxes[mux]
}

// newSheet takes over from the sheet before what didn't change: mostly that is all of it.
func newSheet(inForce []plan.Claim, before *sheet) *sheet {
	sorted := plan.Ledger{Claims: slices.Clone(inForce)}
	sorted.Sort()
	next := &sheet{claims: sorted.Claims}
	if before != nil {
		next.ledger = before.ledger
		if slices.EqualFunc(next.claims, before.claims, same) {
			next.claims, next.byChannel = before.claims, before.byChannel
			return next
		}
	}
	next.byChannel = make(map[types.NamespacedName][]plan.Claim)
	for _, claim := range next.claims {
		next.byChannel[claim.Owner.Channel] = append(next.byChannel[claim.Owner.Channel], claim)
	}
	return next
}

// tell says which channels differ; without a sheet, none has claims.
func (b *Board) tell(before, after *sheet) {
	var channels []types.NamespacedName
	if before == nil {
		before = &sheet{}
	}
	if after == nil {
		after = &sheet{}
	}
	for channel, claims := range after.byChannel {
		if !slices.EqualFunc(claims, before.byChannel[channel], same) {
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

// same is true if claims don't differ; times may be of different places.
func same(a, b plan.Claim) bool {
	if !a.Since.Equal(b.Since) || !a.Until.Equal(b.Until) {
		return false
	}
	a.Since, a.Until = b.Since, b.Until
	return a == b
}
