// Package fresh lets a controller read its own writes. An informer's cache is behind: a controller that reads only the
// cache writes the same thing twice.
//
//	writes ──▶ Put, Delete ──┐
//	                         ├──▶ Latest: the newer of the two
//	informer ──▶ cache ──────┘
//	     └─────▶ Seen: the cache has reached this version; older writes are dropped
//
// A store usually holds almost nothing: the informer shows a write within milliseconds.
package fresh

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is a pointer to a Kubernetes object.
type Object interface {
	comparable
	client.Object
}

// Store holds the last write of each object of one kind. Callers must not change the objects.
type Store[T Object] struct {
	now      func() time.Time
	patience time.Duration
	// confirmed keeps an overdue write until a live read replaces it. Without it, an overdue write is dropped.
	confirmed bool

	mu      sync.Mutex
	written map[types.NamespacedName]write[T]
	// seen is the newest resource version that the informer has shown, by namespace: each namespace may have its own
	// watch.
	seen  map[string]string
	sweep time.Time
}

// write is the last write of an object. It is overdue after until.
type write[T Object] struct {
	object T
	gone   bool
	until  time.Time
}

func (w write[T]) unlessGone() T {
	if w.gone {
		var none T
		return none
	}
	return w.object
}

// New returns an empty store. It trusts the cache again once a write is older than patience: if an object was created
// and deleted while the watch was broken, the informer never shows it.
func New[T Object](patience time.Duration, now func() time.Time) *Store[T] {
	return &Store[T]{now: now, patience: patience, written: map[types.NamespacedName]write[T]{}, seen: map[string]string{}}
}

// Confirmed returns an empty store that keeps a write however old it is: a cache may be stale for any time. Before
// Latest, the caller must read the Overdue objects live and pass the results to Renew.
func Confirmed[T Object](patience time.Duration, now func() time.Time) *Store[T] {
	s := New[T](patience, now)
	s.confirmed = true
	return s
}

// Overdue returns the objects whose writes the informer should have shown by now, sorted.
func (s *Store[T]) Overdue() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var overdue []T
	for key, last := range s.written {
		switch {
		case !now.After(last.until):
		case last.gone && atLeast(s.seen[key.Namespace], last.object.GetResourceVersion()):
			delete(s.written, key) // the informer has shown a later version
		default:
			overdue = append(overdue, last.object)
		}
	}
	slices.SortFunc(overdue, func(a, b T) int {
		return strings.Compare(client.ObjectKeyFromObject(a).String(), client.ObjectKeyFromObject(b).String())
	})
	return overdue
}

// Due returns when the first write becomes overdue; zero if the informer has shown all writes.
func (s *Store[T]) Due() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due time.Time
	for _, last := range s.written {
		if due.IsZero() || last.until.Before(due) {
			due = last.until
		}
	}
	return due
}

// Renew stores the result of a live read of an overdue object. The result replaces the write even if its version is
// lower: a cluster restored from a backup starts again with low versions.
func (s *Store[T]) Renew(obj T, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[client.ObjectKeyFromObject(obj)] = write[T]{obj, gone, s.now().Add(s.patience)}
}

// Put stores an object as the API server returned it from a create, an update or a patch.
func (s *Store[T]) Put(obj T) { s.put(obj, false) }

// Delete stores that an object is deleted.
func (s *Store[T]) Delete(obj T) { s.put(obj, true) }

func (s *Store[T]) put(obj T, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, key := s.now(), client.ObjectKeyFromObject(obj)
	s.tidy(now)
	if !gone && isOlder(obj.GetResourceVersion(), s.written[key]) {
		return
	}
	s.written[key] = write[T]{obj, gone, now.Add(s.patience)}
}

// isOlder is true if a version is older than the last write.
func isOlder[T Object](version string, last write[T]) bool {
	var none T
	return last.object != none && !last.gone && atLeast(last.object.GetResourceVersion(), version) &&
		last.object.GetResourceVersion() != version
}

// Latest returns the newer of the cached object (nil if the cache has none) and the last write; nil if the object
// doesn't exist.
func (s *Store[T]) Latest(key types.NamespacedName, cached T) T {
	var none T
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.written[key]
	switch {
	case !known:
		return cached
	case !s.confirmed && s.now().After(last.until):
	case cached == none:
		// If the informer is past our write, another writer has deleted the object. If not, the cache doesn't show our
		// write yet.
		if !atLeast(s.seen[key.Namespace], last.object.GetResourceVersion()) {
			return last.unlessGone()
		}
	case !atLeast(cached.GetResourceVersion(), last.object.GetResourceVersion()):
		return last.unlessGone()
	case last.gone && cached.GetUID() == last.object.GetUID():
		return none
	}
	delete(s.written, key)
	return cached
}

// Seen records an object that the informer shows: added, updated or deleted. By then the cache reflects it.
func (s *Store[T]) Seen(obj T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, namespace := obj.GetResourceVersion(), obj.GetNamespace()
	if atLeast(version, s.seen[namespace]) || s.seen[namespace] == "" {
		s.seen[namespace] = version
	}
	key := client.ObjectKeyFromObject(obj)
	if last, known := s.written[key]; known && !last.gone && atLeast(version, last.object.GetResourceVersion()) {
		delete(s.written, key)
	}
}

// Forget drops the write of an object, so that Latest returns the cached object.
func (s *Store[T]) Forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, key)
}

// tidy drops overdue writes.
func (s *Store[T]) tidy(now time.Time) {
	if s.confirmed || now.Before(s.sweep) {
		return
	}
	s.sweep = now.Add(s.patience)
	for key, last := range s.written {
		if now.After(last.until) {
			delete(s.written, key)
		}
	}
}

// atLeast is true if version a isn't older than b. It is false if they can't be compared: an object from a dry run may
// have no version.
func atLeast(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order >= 0
}
