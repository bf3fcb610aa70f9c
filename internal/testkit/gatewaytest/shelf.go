// Package gatewaytest has an API server and caches in memory, for tests that play histories with the real passes. The
// tests draw the faults.
//
//	shelf.go   objects by kind and name: a server's, or a cache's
//	server.go  an API server, and the client of the process under test
package gatewaytest

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Shelf stores objects by kind and name. Tests use it as a fake API server or a fake cache.
type Shelf struct {
	Objects map[string]map[types.NamespacedName]client.Object
	indexes map[string]client.IndexerFunc // by kind and field
	lists   int
}

// NewShelf returns an empty Shelf.
func NewShelf() *Shelf {
	return &Shelf{Objects: map[string]map[types.NamespacedName]client.Object{}, indexes: map[string]client.IndexerFunc{}}
}

// KindOf returns the kind of an object or of a list.
func KindOf(object any) string {
	return strings.TrimSuffix(reflect.TypeOf(object).Elem().Name(), "List")
}

// At returns the object of the same kind and name, or nil if it doesn't exist.
func (s *Shelf) At(object client.Object) client.Object {
	return s.Objects[KindOf(object)][client.ObjectKeyFromObject(object)]
}

// Set stores an object as it is.
func (s *Shelf) Set(object client.Object) {
	kind := KindOf(object)
	if s.Objects[kind] == nil {
		s.Objects[kind] = map[types.NamespacedName]client.Object{}
	}
	s.Objects[kind][client.ObjectKeyFromObject(object)] = object
}

// Drop deletes an object.
func (s *Shelf) Drop(object client.Object) {
	delete(s.Objects[KindOf(object)], client.ObjectKeyFromObject(object))
}

// Kinds returns the kinds of which there are objects, or were some.
func (s *Shelf) Kinds() []string { return slices.Sorted(maps.Keys(s.Objects)) }

// sorted returns the names of the objects of a kind, sorted.
func (s *Shelf) sorted(kind string) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(s.Objects[kind]), func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	})
}

// Of returns all objects of a type, sorted by name.
func Of[T client.Object](s *Shelf) (all []T) {
	var none T
	kind := KindOf(none)
	for _, key := range s.sorted(kind) {
		all = append(all, s.Objects[kind][key].(T))
	}
	return all
}

// Get returns an object, or nil if it doesn't exist.
func Get[T client.Object](s *Shelf, namespace, name string) T {
	var none T
	found, _ := s.Objects[KindOf(none)][types.NamespacedName{Namespace: namespace, Name: name}].(T)
	return found
}

// Get implements client.Reader.
func (s *Shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	found := s.Objects[KindOf(into)][key]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: KindOf(into)}, key.Name)
	}
	var o client.GetOptions
	o.ApplyOptions(options)
	if o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		found = copyOf(found)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// List implements client.Reader. Caches have no order, so every second list is backwards.
func (s *Shelf) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	kind := KindOf(into)
	var found []runtime.Object
	names := s.sorted(kind)
	if s.lists++; s.lists%2 == 0 {
		slices.Reverse(names)
	}
	for _, key := range names {
		object := s.Objects[kind][key]
		if o.Namespace != "" && o.Namespace != key.Namespace {
			continue
		}
		if o.FieldSelector != nil {
			field := o.FieldSelector.Requirements()[0]
			if !slices.Contains(s.indexes[kind+" "+field.Field](object), field.Value) {
				continue
			}
		}
		if o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
			object = copyOf(object)
		}
		found = append(found, object)
	}
	return meta.SetList(into, found)
}

// IndexField implements client.FieldIndexer.
func (s *Shelf) IndexField(_ context.Context, object client.Object, field string, of client.IndexerFunc) error {
	s.indexes[KindOf(object)+" "+field] = of
	return nil
}

func copyOf(object client.Object) client.Object {
	is, _ := object.DeepCopyObject().(client.Object)
	return is
}
