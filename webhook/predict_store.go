package webhook

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// store is a reflector's store. It calls set with the new state of each changed object, and with nil for an object that
// is gone. It calls read after each complete list.
type store struct {
	mu   *sync.Mutex
	set  func(types.NamespacedName, metav1.Object)
	read func()
	// trim drops the parts of an object that are never read. If it is nil, only managed fields are dropped.
	trim  cache.TransformFunc
	known map[types.NamespacedName]bool
}

var _ cache.TransformingStore = (*store)(nil)

// Add passes a new object on.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update passes the new state of an object on.
func (s *store) Update(obj any) error { return s.change(obj, true) }

// Delete passes on that an object is gone.
func (s *store) Delete(obj any) error { return s.change(obj, false) }

func (s *store) change(obj any, exists bool) error {
	object, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("expected an object, got %T", obj)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(object, exists)
	return nil
}

func (s *store) put(object metav1.Object, exists bool) {
	key := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	if !exists {
		delete(s.known, key)
		s.set(key, nil)
		return
	}
	if s.known == nil {
		s.known = map[types.NamespacedName]bool{}
	}
	s.known[key] = true
	object.SetManagedFields(nil)
	s.set(key, object)
}

// Replace passes on all objects of a list, and that all other known objects are gone.
func (s *store) Replace(list []any, _ string) error {
	s.mu.Lock()
	there := map[types.NamespacedName]bool{}
	for _, obj := range list {
		if object, ok := obj.(metav1.Object); ok {
			there[types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] = true
			s.put(object, true)
		}
	}
	for key := range s.known {
		if !there[key] {
			delete(s.known, key)
			s.set(key, nil)
		}
	}
	s.mu.Unlock()
	s.read()
	return nil
}

// Resync does nothing.
func (s *store) Resync() error { return nil }

// Transformer returns the function that the reflector applies to each object of a streamed list. The reflector doesn't
// apply it to other lists and to watch events.
func (s *store) Transformer() cache.TransformFunc {
	if s.trim != nil {
		return s.trim
	}
	return func(obj any) (any, error) {
		if object, ok := obj.(metav1.Object); ok {
			object.SetManagedFields(nil)
		}
		return obj, nil
	}
}
