package webhook

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// The methods below make the index a reflector's store.
var _ cache.TransformingStore = (*index)(nil)

// Add stores a new Service.
func (x *index) Add(obj any) error { return x.Update(obj) }

// Update stores the new state of a Service.
func (x *index) Update(obj any) error {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return fmt.Errorf("expected a Service, got %T", obj)
	}
	is := readEntry(x.lang, svc)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.set(keyOf(svc), is)
	return nil
}

// Delete removes a Service.
func (x *index) Delete(obj any) error {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return fmt.Errorf("expected a Service, got %T", obj)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.set(keyOf(svc), entry{})
	return nil
}

// Replace stores all Services, and removes all others.
func (x *index) Replace(list []any, _ string) error {
	entries := make(map[types.NamespacedName]entry, len(list))
	for _, obj := range list {
		if svc, ok := obj.(*corev1.Service); ok {
			entries[keyOf(svc)] = readEntry(x.lang, svc)
		}
	}
	x.mu.Lock()
	for key := range x.entries {
		if _, still := entries[key]; !still {
			x.set(key, entry{})
		}
	}
	for key, is := range entries {
		x.set(key, is)
	}
	x.mu.Unlock()
	x.read()
	return nil
}

// Resync does nothing: the index has no handlers to notify.
func (x *index) Resync() error { return nil }

// Transformer returns the function that the reflector applies to each listed Service.
func (x *index) Transformer() cache.TransformFunc { return trim }
