package plan

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// A Prediction is the result of a change that isn't made yet. It is made from Services alone, which may be out of date:
// neither the ledger nor our slices are known.
//
//	Survey(world) ──▶ Outlook   the holders of a mux's numbers, rebuilt as if the ledger were lost
//	  .Channel                  a channel is created, or asks for something else
//	  .Mux                      a mux is changed
//	  .Deleted, .Dropped        a mux is deleted, or ceases to be one
//
// An Outlook is made once for many questions, as long as no Service changes. The cost of a question depends on the
// mux's ports, not on its channels.
type Prediction struct {
	// Problem is the reason, and what to do.
	validation.Problem
	// Effect is the result for the channel if the change is made.
	Effect string
	// Proven is true if no ledger could lead to another result.
	Proven bool
}

// Outlook is a mux as its Services show it.
type Outlook struct {
	world World
	// onMux are claims whose ports are on the mux. coming are claims that newcomers are about to get.
	onMux, coming []Claim
}

// Survey makes the Outlook of a mux. Of the world it needs Now, Keys, Key, Mux and Channels.
func Survey(w World) *Outlook {
	w.Ledger = Reading{Condition: Missing}
	p := judgeAll(&w)
	o := &Outlook{world: w}
	for _, claim := range p.claims {
		switch {
		case !claim.held():
		case p.live.has(claim):
			o.onMux = append(o.onMux, *claim)
		default:
			o.coming = append(o.coming, *claim)
		}
	}
	if w.Mux != nil {
		o.world.Mux = explained(w.Mux, p.live.foreign)
	}
	return o
}

// judgeAll makes the same verdicts as Mux, but plans no writes. For a mux of 10,000 ports that is a quarter of the work.
// A test checks that the verdicts agree.
func judgeAll(w *World) *pass {
	p := newPass(w, &Memory{})
	p.judge()
	return p
}

// explained is the mux without unexplained ports. Their channels were most likely deleted a moment ago, and the ports
// are about to be removed.
func explained(mux *ObservedMux, foreign []*corev1.ServicePort) *ObservedMux {
	unexplained := make(map[Slot]bool, len(foreign))
	for _, port := range foreign {
		if LooksOurs(port.Name) {
			unexplained[slotOf(port)] = true
		}
	}
	without := *mux
	without.Ports = slices.DeleteFunc(slices.Clone(mux.Ports), func(port corev1.ServicePort) bool {
		return unexplained[slotOf(&port)]
	})
	return &without
}

// decided decides about the mux as if a ledger had these claims.
func (o *Outlook) decided(mux *ObservedMux, claims []Claim, channels ...ObservedChannel) *pass {
	w := World{
		Now: o.world.Now, Keys: o.world.Keys, Key: o.world.Key, Mux: mux, Channels: channels,
		Ledger: Reading{Ledger: Ledger{Mux: o.world.Key, Generation: math.MaxInt64, Claims: claims}},
	}
	return judgeAll(&w)
}

// carried returns the channels with ports on the mux, sorted.
func (o *Outlook) carried() []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(o.onMux))
	for i := range o.onMux {
		keys = append(keys, o.onMux[i].Owner.Channel)
	}
	slices.SortFunc(keys, CompareKeys)
	return slices.Compact(keys)
}
