// Package forecast predicts what the reconciler will decide about a change that isn't made yet. The webhook prints the
// predictions as warnings.
package forecast

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// A Prediction is the result of a change that isn't made yet. It is made from Services alone, which may be out of date.
// Neither the ledger nor our slices are known.
//
//	Survey(world) ──▶ Outlook   the holders of a mux's numbers, rebuilt as if the ledger were lost
//	  .Channel                  a channel is created, or asks for something else
//	  .Mux                      a mux is changed
//	  .Deleted, .Dropped        a mux is deleted, or ceases to be one
//
// An Outlook is made once for many questions, as long as no Service changes. The cost of a question depends on the
// mux's ports, not on its channels.
type Prediction struct {
	// Problem has the reason, and what to do.
	validation.Problem
	// Effect is the result for the channel if the change is made.
	Effect string
	// Proven is true if the result is the same whatever the ledger says.
	Proven bool
}

// Outlook is a mux as its Services show it.
type Outlook struct {
	world plan.World
	// onMux are claims whose ports are on the mux. coming are claims whose ports aren't there yet, such as those that
	// newcomers are about to get.
	onMux, coming []plan.Claim
}

// Survey makes the Outlook of a mux. It needs the Now, Keys, Key, Mux and Channels of the world.
func Survey(w plan.World) *Outlook {
	w.Ledger = plan.Reading{Condition: plan.Missing}
	judged := plan.Judge(w)
	o := &Outlook{world: w}
	o.onMux, o.coming = judged.Claims()
	if w.Mux != nil {
		// The channels of unexplained ports were most likely deleted a moment ago, and the ports are about to be removed.
		mux := *w.Mux
		mux.Ports = slices.DeleteFunc(slices.Clone(mux.Ports), judged.IsUnexplained)
		o.world.Mux = &mux
	}
	return o
}

// decided decides about the mux as if a ledger had these claims.
func (o *Outlook) decided(mux *plan.ObservedMux, claims []plan.Claim, channels ...plan.ObservedChannel) plan.Judgement {
	return plan.Judge(plan.World{
		Now: o.world.Now, Keys: o.world.Keys, Key: o.world.Key, Mux: mux, Absent: o.world.Absent, Channels: channels,
		Ledger: plan.Reading{Ledger: plan.Ledger{Mux: o.world.Key, Generation: math.MaxInt64, Claims: claims}},
	})
}

// channelsOf returns the channels that have claims, sorted.
func channelsOf(claims []plan.Claim) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(claims))
	for i := range claims {
		keys = append(keys, claims[i].Owner.Channel)
	}
	slices.SortFunc(keys, plan.CompareKeys)
	return slices.Compact(keys)
}
