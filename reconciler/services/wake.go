package services

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Wake wakes a mux after a change that no informer shows: another Backing of a channel, or other listeners. Before the
// line runs it does nothing: the line starts with a pass over every mux.
func (l *Line) Wake(mux types.NamespacedName) {
	if q := l.woken.Load(); q != nil && mux != noMux {
		watching{l}.wake(*q, mux)
	}
}

// wakes keeps the line's queue for Wake.
func (l *Line) wakes() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		l.woken.Store(&q)
		return nil
	})
}
