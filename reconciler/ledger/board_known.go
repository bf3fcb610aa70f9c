package ledger

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/plan"
)

// Known returns what Of does, and whether the mux is on the board at all: to have no claims is something else than that
// nobody has decided yet. Both are of one moment: a mux that comes onto the board meanwhile would else seem to have
// decided that the channel has none.
func (b *Board) Known(channel, mux types.NamespacedName) ([]plan.Claim, bool) {
	s := b.sheet(mux)
	if s == nil {
		return nil, false
	}
	return slices.Clone(s.byChannel[channel]), true
}
