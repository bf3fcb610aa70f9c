package backends

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nowake.ai/svc-lb-mux/reconciler/plan"
	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// report tells, once, of slices that can't be written because their name is somebody else's.
func (l *line) report(ctx context.Context, decided *muxslices.Decision) {
	now := make(map[types.NamespacedName]bool, len(decided.Refused))
	for _, refused := range decided.Refused {
		now[refused.Slice] = true
		if l.refused.add(refused.Slice, decided.Channel) {
			log.FromContext(ctx).Info("A slice's name is taken", "slice", refused.Slice, "source", refused.Source)
			l.Tell(plan.Event{Object: decided.Mux, Warning: true, Reason: plan.SliceNameTaken, Message: refused.String()})
		}
	}
	l.refused.drop(decided.Channel, now)
}

// waitingList holds, by the slice whose name is taken, the channel that waits for it. Somebody else's slice tells nobody
// but us which channel it holds up.
type waitingList struct {
	mu       sync.Mutex
	channels map[types.NamespacedName]types.NamespacedName
}

// add says if that is news.
func (w *waitingList) add(slice, channel types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.channels[slice]
	w.channels[slice] = channel
	return !known || before != channel
}

func (w *waitingList) waiting(slice types.NamespacedName) (types.NamespacedName, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	channel, waits := w.channels[slice]
	return channel, waits
}

// drop forgets what a channel waited for, but for what it still does.
func (w *waitingList) drop(channel types.NamespacedName, still map[types.NamespacedName]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for slice, waits := range w.channels {
		if waits == channel && !still[slice] {
			delete(w.channels, slice)
		}
	}
}
