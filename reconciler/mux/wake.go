package mux

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Wake wakes a mux after a change that no informer shows: another Backing of a channel, or other listeners.
func (l *Line) Wake(mux types.NamespacedName) {
	if q := l.woken.get(); q != nil && mux != noMux {
		watching{l}.wake(q, mux)
	}
}

// waker keeps the line's queue for changes that no informer shows. Before the line runs it has none, and needs none:
// the line starts with a pass over every mux.
type waker struct {
	mu    sync.Mutex
	queue queue
}

func (w *waker) get() queue {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue
}

func (w *waker) source() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.queue = q
		return nil
	})
}
