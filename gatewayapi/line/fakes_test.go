package line

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// shelf has objects by kind and name. It is an API server, or a cache.
type shelf struct {
	objects map[string]map[types.NamespacedName]client.Object
	indexes map[string]client.IndexerFunc // by kind and field
	lists   int
}

func newShelf() *shelf {
	return &shelf{objects: map[string]map[types.NamespacedName]client.Object{}, indexes: map[string]client.IndexerFunc{}}
}

// kindOf is the kind of an object or of a list.
func kindOf(object any) string {
	return strings.TrimSuffix(reflect.TypeOf(object).Elem().Name(), "List")
}

func (s *shelf) at(object client.Object) client.Object {
	return s.objects[kindOf(object)][client.ObjectKeyFromObject(object)]
}

func (s *shelf) set(object client.Object) {
	kind := kindOf(object)
	if s.objects[kind] == nil {
		s.objects[kind] = map[types.NamespacedName]client.Object{}
	}
	s.objects[kind][client.ObjectKeyFromObject(object)] = object
}

// sorted are the names of the objects of a kind.
func (s *shelf) sorted(kind string) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(s.objects[kind]), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}

// of returns all objects of a type.
func of[T client.Object](s *shelf) (all []T) {
	var none T
	kind := kindOf(none)
	for _, key := range s.sorted(kind) {
		all = append(all, s.objects[kind][key].(T))
	}
	return all
}

// get returns an object; the zero value if there is none.
func get[T client.Object](s *shelf, namespace, name string) T {
	var none T
	found, _ := s.objects[kindOf(none)][types.NamespacedName{Namespace: namespace, Name: name}].(T)
	return found
}

// Get implements client.Reader.
func (s *shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	found := s.objects[kindOf(into)][key]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(into)}, key.Name)
	}
	var o client.GetOptions
	o.ApplyOptions(options)
	if o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		found = found.DeepCopyObject().(client.Object)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// List implements client.Reader. Caches have no order, so every second list is backwards.
func (s *shelf) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	kind := kindOf(into)
	var found []runtime.Object
	names := s.sorted(kind)
	if s.lists++; s.lists%2 == 0 {
		slices.Reverse(names)
	}
	for _, key := range names {
		object := s.objects[kind][key]
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
			object = object.DeepCopyObject().(client.Object)
		}
		found = append(found, object)
	}
	return meta.SetList(into, found)
}

// IndexField implements client.FieldIndexer.
func (s *shelf) IndexField(_ context.Context, object client.Object, field string, of client.IndexerFunc) error {
	s.indexes[kindOf(object)+" "+field] = of
	return nil
}

// server is an API server. Its writers are people and the process.
type server struct {
	*shelf
	version int
	// fails is asked before each write of the process.
	fails func() bool
	// judge checks a write of the process.
	judge func(before, after client.Object)
	wrote int
}

var errRefused = errors.New("the API server doesn't answer")

// put stores an object. A change of its spec is another generation.
func (s *server) put(object client.Object, isSpec bool) {
	s.version++
	before := s.at(object)
	switch {
	case before == nil:
		object.SetUID(types.UID(fmt.Sprintf("%s-%d", object.GetName(), s.version)))
		object.SetGeneration(1)
	case isSpec:
		object.SetGeneration(before.GetGeneration() + 1)
	}
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.set(object)
}

// drop deletes an object.
func (s *server) drop(object client.Object) {
	delete(s.objects[kindOf(object)], client.ObjectKeyFromObject(object))
}

// collect is the garbage collector: it deletes Services whose Gateway is gone.
func (s *server) collect() {
	for _, svc := range of[*corev1.Service](s.shelf) {
		owner := metav1.GetControllerOf(svc)
		if owner == nil {
			continue
		}
		if gateway := get[*gatewayv1.Gateway](s.shelf, svc.Namespace, owner.Name); gateway == nil || gateway.UID != owner.UID {
			s.drop(svc)
		}
	}
}

// writer is the process's client.
type writer struct {
	client.Client
	*server
}

func (w writer) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return w.shelf.Get(ctx, key, into, options...)
}

func (w writer) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return w.shelf.List(ctx, into, options...)
}

func (w writer) write(before, after client.Object) error {
	if w.fails() {
		return errRefused
	}
	w.wrote++
	w.judge(before, after)
	if after == nil {
		w.drop(before)
	} else {
		w.put(after, false)
	}
	return nil
}

func (w writer) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if w.at(object) != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: kindOf(object)}, object.GetName())
	}
	return w.write(nil, object.DeepCopyObject().(client.Object))
}

func (w writer) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(options)
	before := w.at(object)
	switch {
	case before == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(object)}, object.GetName())
	case o.Preconditions != nil && o.Preconditions.UID != nil && *o.Preconditions.UID != before.GetUID():
		return w.conflict(object)
	}
	return w.write(before, nil)
}

// Patch takes labels and annotations alone.
func (w writer) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	before := w.at(object)
	if before == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(object)}, object.GetName())
	}
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	var is struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(body, &is); err != nil {
		return err
	}
	if is.Metadata.UID != before.GetUID() {
		return w.conflict(object)
	}
	after := before.DeepCopyObject().(client.Object)
	labels, annotations := maps.Clone(after.GetLabels()), maps.Clone(after.GetAnnotations())
	maps.Copy(labels, is.Metadata.Labels)
	maps.Copy(annotations, is.Metadata.Annotations)
	after.SetLabels(labels)
	after.SetAnnotations(annotations)
	return w.write(before, after)
}

func (w writer) conflict(object client.Object) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: kindOf(object)}, object.GetName(), errors.New("it was modified"))
}

func (w writer) Status() client.SubResourceWriter { return statuses{w: w} }

type statuses struct {
	client.SubResourceWriter
	w writer
}

// Patch replaces a status, if the object is still as it was read.
func (s statuses) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	before := s.w.at(object)
	switch {
	case before == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(object)}, object.GetName())
	case before.GetResourceVersion() != object.GetResourceVersion():
		return s.w.conflict(object)
	}
	after := before.DeepCopyObject().(client.Object)
	switch now := object.DeepCopyObject().(type) {
	case *gatewayv1.GatewayClass:
		after.(*gatewayv1.GatewayClass).Status = now.Status
	case *gatewayv1.Gateway:
		after.(*gatewayv1.Gateway).Status = now.Status
	case *gatewayv1.ListenerSet:
		after.(*gatewayv1.ListenerSet).Status = now.Status
	case *gatewayv1.TCPRoute:
		after.(*gatewayv1.TCPRoute).Status = now.Status
	case *gatewayv1.UDPRoute:
		after.(*gatewayv1.UDPRoute).Status = now.Status
	default:
		return fmt.Errorf("the status of a %T", object)
	}
	return s.w.write(before, after)
}
