package fresh

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Before copies the writes that the informer hasn't shown. A caller takes the copy before it reads the cache: the
// informer may show a newer version before the caller asks for Latest, and the store then drops its write.
func (s *Store[T]) Before() Glance[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	written, now := maps.Clone(s.written), s.now()
	maps.DeleteFunc(written, func(_ types.NamespacedName, last write[T]) bool {
		return !s.confirmed && now.After(last.until)
	})
	return Glance[T]{s, written}
}

// Glance is a copy of the writes, taken before the cache was read.
type Glance[T Object] struct {
	store   *Store[T]
	written map[types.NamespacedName]write[T]
}

// Keys returns the objects that the cache may lack, in no order.
func (g Glance[T]) Keys() []types.NamespacedName { return slices.Collect(maps.Keys(g.written)) }

// Latest does the same as Store.Latest for an object that was read after the copy was taken.
func (g Glance[T]) Latest(key types.NamespacedName, cached T) T {
	var none T
	latest, last := g.store.Latest(key, cached), g.written[key]
	if latest != none && isOlder(latest.GetResourceVersion(), last) {
		return last.object
	}
	return latest
}
