// Package fresh lets a controller read its own writes: an informer's cache is behind, and who decides by it alone
// writes the same thing twice.
//
//	writes ──▶ Put, Delete ──┐
//	                         ├──▶ Latest: whichever is newer
//	informer ──▶ cache ──────┘
//	     └─────▶ Seen: the cache is as far as this, so what is older may go
//
// Usually it holds next to nothing: what was written comes back through the informer within milliseconds.
package fresh

import (
	"maps"
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

// Store holds what was written of one kind of object. Objects in it are shared: nobody may change them.
type Store[T Object] struct {
	now      func() time.Time
	patience time.Duration
	// confirmed is true if what is late is looked at live, and never dropped for its age.
	confirmed bool

	mu      sync.Mutex
	written map[types.NamespacedName]write[T]
	// seen is the newest resource version that the informer has shown, by namespace, since each may have a watch of
	// its own.
	seen  map[string]string
	sweep time.Time
}

// write is the last one of an object.
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

// New returns an empty store. After patience, whatever the informer shows is believed: news of an object that came and
// went while its watch was broken never arrives.
func New[T Object](patience time.Duration, now func() time.Time) *Store[T] {
	return &Store[T]{now: now, patience: patience, written: map[types.NamespacedName]write[T]{}, seen: map[string]string{}}
}

// Confirmed returns an empty store that never believes the informer only because time went by: a cache may be behind for as
// long as it likes. Whoever asks Latest must look at what is Overdue first.
func Confirmed[T Object](patience time.Duration, now func() time.Time) *Store[T] {
	s := New[T](patience, now)
	s.confirmed = true
	return s
}

// Overdue are the objects whose writes the informer should have shown by now, sorted. What a live read says of them is for Renew.
func (s *Store[T]) Overdue() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var overdue []T
	for key, last := range s.written {
		switch {
		case !now.After(last.until):
		case last.gone && atLeast(s.seen[key.Namespace], last.object.GetResourceVersion()):
			delete(s.written, key) // the informer has shown what came later
		default:
			overdue = append(overdue, last.object)
		}
	}
	slices.SortFunc(overdue, func(a, b T) int {
		return strings.Compare(client.ObjectKeyFromObject(a).String(), client.ObjectKeyFromObject(b).String())
	})
	return overdue
}

// Due is when the first of the writes that the informer hasn't shown is overdue; zero if it has shown them all.
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

// Renew takes what a live read says of an object that was overdue: as it is, or that it is gone. It counts whatever its version
// is: those of a cluster that was put back from a backup begin anew.
func (s *Store[T]) Renew(obj T, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[client.ObjectKeyFromObject(obj)] = write[T]{obj, gone, s.now().Add(s.patience)}
}

// Put takes an object as the API server returned it from a create, an update or a patch.
func (s *Store[T]) Put(obj T) { s.put(obj, false) }

// Delete takes an object that the API server has deleted.
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

// isOlder is true if what was written since is newer than a version.
func isOlder[T Object](version string, since write[T]) bool {
	var none T
	return since.object != none && !since.gone && atLeast(since.object.GetResourceVersion(), version) &&
		since.object.GetResourceVersion() != version
}

// Latest returns the newer of what the cache has (nil if nothing) and what was written; nil if there is no such object.
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
		// If the informer is past the write, the object has been deleted since. If it isn't, it may yet show one that
		// we have deleted.
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

// Before is what was written and isn't seen yet, for who is about to read the cache: by the time that it is asked about what was
// read, the informer may have shown what is newer, and it is dropped.
func (s *Store[T]) Before() Glance[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	written, now := maps.Clone(s.written), s.now()
	maps.DeleteFunc(written, func(_ types.NamespacedName, last write[T]) bool { return !s.confirmed && now.After(last.until) })
	return Glance[T]{s, written}
}

// Glance is what was written before the cache was read.
type Glance[T Object] struct {
	store   *Store[T]
	written map[types.NamespacedName]write[T]
}

// Latest is Store.Latest, of an object that was read since.
func (g Glance[T]) Latest(key types.NamespacedName, cached T) T {
	var none T
	latest, last := g.store.Latest(key, cached), g.written[key]
	if latest != none && isOlder(latest.GetResourceVersion(), last) {
		return last.object
	}
	return latest
}

// Seen is called with every object that the informer shows, whatever has become of it. By then it is in the cache.
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

// Forget takes the cache's word on an object from now on: for when the API server has said that what was decided by is
// not so.
func (s *Store[T]) Forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, key)
}

// tidy drops what nobody asked about any more.
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

// atLeast is true if version a is no older than b; false if they can't be compared, as with one that a dry run made up.
func atLeast(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order >= 0
}
