package webhook

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// What follows makes the book a reflector's store.
var _ cache.TransformingStore = (*book)(nil)

// Add enters a Service that is new.
func (b *book) Add(obj any) error { return b.Update(obj) }

// Update enters what a Service is now.
func (b *book) Update(obj any) error {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return fmt.Errorf("a Service is expected, not %T", obj)
	}
	is := readEntry(b.lang, svc)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(keyOf(svc), is)
	return nil
}

// Delete forgets it.
func (b *book) Delete(obj any) error {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return fmt.Errorf("a Service is expected, not %T", obj)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(keyOf(svc), entry{})
	return nil
}

// Replace enters all Services that there are, and forgets all others.
func (b *book) Replace(list []any, _ string) error {
	entries := make(map[types.NamespacedName]entry, len(list))
	for _, obj := range list {
		if svc, ok := obj.(*corev1.Service); ok {
			entries[keyOf(svc)] = readEntry(b.lang, svc)
		}
	}
	b.mu.Lock()
	for key := range b.entries {
		if _, still := entries[key]; !still {
			b.set(key, entry{})
		}
	}
	for key, is := range entries {
		b.set(key, is)
	}
	b.mu.Unlock()
	b.read()
	return nil
}

// Resync has nothing to do: nobody waits for news here.
func (b *book) Resync() error { return nil }

// Transformer is what the reflector does to Services that it gathers for Replace.
func (b *book) Transformer() cache.TransformFunc { return trim }
