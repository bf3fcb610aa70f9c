package plan

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// A Prediction is what a change will come to, told before it is made. Who predicts sees Services alone: neither the
// ledger nor our slices, and Services perhaps as they were a moment ago.
//
//	Survey(world) ──▶ Outlook   who has what on a mux, rebuilt as if its ledger were lost
//	  .Channel                  a channel comes, or asks for something else
//	  .Mux                      a mux is changed
//	  .Deleted, .Dropped        a mux is deleted, or is one no longer
//
// An Outlook is made once for as long as nothing changes, and asked often: that costs what a mux's ports cost, not what
// its channels do.
type Prediction struct {
	// Problem is what stands in the way, and the way out.
	validation.Problem
	// Effect is what that comes to, where the change is made all the same.
	Effect string
	// Proven is true if Services alone prove it: no ledger could say otherwise.
	Proven bool
}

// Outlook is a mux as its Services show it.
type Outlook struct {
	world World
	// onMux are claims whose ports are on the mux, coming those that newcomers are about to get.
	onMux, coming []Claim
}

// Survey finds out who has what. Of the world it needs Now, Keys, Key, Mux and Channels.
func Survey(w World) *Outlook {
	w.Ledger = Reading{Condition: Missing}
	p := foresee(&w)
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

// foresee decides as Mux does, as far as verdicts go: it writes nothing, so nobody needs to know what. For a mux of
// 10,000 ports that is a quarter of the work. A test holds both to the same verdicts.
func foresee(w *World) *pass {
	p := newPass(w, &Memory{})
	p.judge()
	return p
}

// explained is the mux without ports that look like channels' and are none's: most likely they are just being taken
// off, for their channel was deleted a moment ago. Nothing is predicted from them.
func explained(mux *ObservedMux, foreign []*corev1.ServicePort) *ObservedMux {
	nobodys := make(map[Slot]bool, len(foreign))
	for _, port := range foreign {
		if looksOurs(port.Name) {
			nobodys[slotOf(port)] = true
		}
	}
	without := *mux
	without.Ports = slices.DeleteFunc(slices.Clone(mux.Ports), func(port corev1.ServicePort) bool {
		return nobodys[slotOf(&port)]
	})
	return &without
}

// decided is a decision about the mux with these claims and channels, as if a ledger said so.
func (o *Outlook) decided(mux *ObservedMux, claims []Claim, channels ...ObservedChannel) *pass {
	w := World{
		Now: o.world.Now, Keys: o.world.Keys, Key: o.world.Key, Mux: mux, Channels: channels,
		Ledger: Reading{Ledger: Ledger{Mux: o.world.Key, Generation: math.MaxInt64, Claims: claims}},
	}
	return foresee(&w)
}

// carried are the channels with ports on the mux, sorted.
func (o *Outlook) carried() []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(o.onMux))
	for i := range o.onMux {
		keys = append(keys, o.onMux[i].Owner.Channel)
	}
	slices.SortFunc(keys, CompareKeys)
	return slices.Compact(keys)
}
