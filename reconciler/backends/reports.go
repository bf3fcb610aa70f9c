package backends

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// uncarriedPause is how long a channel's ready backends may be missing on the mux before that is reported. A deleted
// slice is written again within milliseconds, and changing a condition back and forth costs two writes and two Events.
const uncarriedPause = 5 * time.Second

// Reports tells whether channels have backends on their muxes, and which of their slices can't be written. The backends
// line writes the Reports. The mux line reads them for the condition BackendsReady. The zero value is empty.
type Reports struct {
	// Changed is called when the result of Of changes for a channel of the mux. It is set before the line runs, and may be
	// nil.
	Changed func(mux types.NamespacedName)

	mu       sync.Mutex
	channels map[types.NamespacedName]report
}

// wordsOfSlices are reasons, by slice: the API server's message, or that a foreign slice has the name.
type wordsOfSlices = map[types.NamespacedName]string

// report is about a channel on the mux with that UID.
type report struct {
	mux     types.UID
	backing plan.Backing
	refused wordsOfSlices
	// excess says how a limit cuts the channel's endpoints; empty if none does.
	excess string
	// uncarried is since when ready backends are missing on the mux.
	uncarried time.Time
}

// Of returns whether a channel has backends on the mux with that UID, and why the first of its slices can't be written;
// empty if all can.
func (r *Reports) Of(channel types.NamespacedName, mux types.UID) (plan.Backing, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.channels[channel]
	if is.mux != mux {
		return plan.Unknown, ""
	}
	return is.backing, first(is.refused)
}

// Excess returns how a limit cuts the channel's endpoints on the mux with that UID; empty if none does.
func (r *Reports) Excess(channel types.NamespacedName, mux types.UID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if is := r.channels[channel]; is.mux == mux {
		return is.excess
	}
	return ""
}

func first(refused wordsOfSlices) string {
	if len(refused) == 0 {
		return ""
	}
	return refused[slices.MinFunc(slices.Collect(maps.Keys(refused)), plan.CompareKeys)]
}

// refused returns the slices of a channel that can't be written. The caller must not change them.
func (r *Reports) refused(channel types.NamespacedName) wordsOfSlices {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.channels[channel].refused
}

// set reports what a pass saw, and returns after how long another pass must follow even if nothing changes; 0 if none
// must.
func (r *Reports) set(seen *observation, excess *project.Excess, refused wordsOfSlices,
	now time.Time) (again time.Duration) {
	r.mu.Lock()
	before := r.channels[seen.Channel]
	is := report{mux: seen.Mux.UID, refused: refused}
	if excess != nil {
		is.excess = excess.Message(seen.Channel.Namespace)
	}
	if seen.isAttached && seen.Mux.IsMux {
		is.backing = project.CarriedBacking(seen.Carried, seen.Sources, seen.Ports, seen.Mux.Families)
	}
	if is.backing == plan.NotCarried {
		if is.uncarried = before.uncarried; is.uncarried.IsZero() || now.Before(is.uncarried) { // a clock may be set back
			is.uncarried = now
		}
		if again = is.uncarried.Add(uncarriedPause).Sub(now); again > 0 {
			is.backing = plan.Unknown
		}
	}
	if r.channels == nil {
		r.channels = map[types.NamespacedName]report{}
	}
	r.channels[seen.Channel] = is
	if !seen.isAttached && len(refused) == 0 {
		delete(r.channels, seen.Channel)
	}
	r.mu.Unlock()
	same := is.mux == before.mux && is.backing == before.backing && first(is.refused) == first(before.refused) &&
		is.excess == before.excess
	if r.Changed != nil && !same {
		r.Changed(seen.Mux.Key)
	}
	return max(again, 0)
}
