package gatewaytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Server is an API server. Its writers are people and the process under test.
type Server struct {
	*Shelf
	version int
	// Answer is asked before each write of the process: whether it is carried out, and which error the process gets.
	Answer func(before, after client.Object) (done bool, err error)
	// Judge checks a write of the process. Before is nil for a new object, after for one that is deleted.
	Judge func(before, after client.Object)
	// Wrote counts the writes of the process.
	Wrote int
}

// ErrNoAnswer is a request that fails.
var ErrNoAnswer = errors.New("the API server doesn't answer")

// Put stores an object. If isSpec is true, the object gets another generation.
func (s *Server) Put(object client.Object, isSpec bool) {
	s.version++
	before := s.At(object)
	switch {
	case before == nil:
		object.SetUID(types.UID(fmt.Sprintf("%s-%d", object.GetName(), s.version)))
		object.SetGeneration(1)
	case isSpec:
		object.SetGeneration(before.GetGeneration() + 1)
	}
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.Set(object)
}

// Collect is the garbage collector: it deletes objects whose controller is gone.
func (s *Server) Collect() {
	for _, kind := range s.Kinds() {
		for _, key := range s.sorted(kind) {
			object := s.Objects[kind][key]
			owner := metav1.GetControllerOf(object)
			if owner == nil {
				continue
			}
			if is := s.Objects[owner.Kind][types.NamespacedName{Namespace: key.Namespace, Name: owner.Name}]; is == nil ||
				is.GetUID() != owner.UID {
				s.Drop(object)
			}
		}
	}
}

// Writer is the process's client.
type Writer struct {
	client.Client
	*Server
}

// Get reads live.
func (w Writer) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return w.Shelf.Get(ctx, key, into, options...)
}

// List reads live.
func (w Writer) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return w.Shelf.List(ctx, into, options...)
}

func (w Writer) write(before, after client.Object, isSpec bool) error {
	done, err := w.Answer(before, after)
	if !done {
		return err
	}
	w.Wrote++
	w.Judge(before, after)
	if after == nil {
		w.Drop(before)
	} else {
		w.Put(after, isSpec)
	}
	return err
}

// Create fails if the object is there.
func (w Writer) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if w.At(object) != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: KindOf(object)}, object.GetName())
	}
	now := copyOf(object)
	err := w.write(nil, now, true)
	if err == nil {
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(copyOf(now)).Elem())
	}
	return err
}

// Update replaces an object, if it is still as it was read.
func (w Writer) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	before := w.At(object)
	switch {
	case before == nil:
		return notFound(object)
	case before.GetResourceVersion() != object.GetResourceVersion():
		return conflict(object)
	}
	return w.write(before, copyOf(object), true)
}

// Delete deletes an object, if its preconditions hold.
func (w Writer) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(options)
	before := w.At(object)
	switch p := o.Preconditions; {
	case before == nil:
		return notFound(object)
	case p != nil && (p.UID != nil && *p.UID != before.GetUID() ||
		p.ResourceVersion != nil && *p.ResourceVersion != before.GetResourceVersion()):
		return conflict(object)
	}
	return w.write(before, nil, false)
}

// Patch takes merge patches. A uid and a resourceVersion in them are preconditions.
func (w Writer) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return w.patch(object, patch, func(field string) bool { return field != "status" })
}

// Status writes statuses alone.
func (w Writer) Status() client.SubResourceWriter { return statuses{w: w} }

type statuses struct {
	client.SubResourceWriter
	w Writer
}

// Patch takes merge patches as Writer.Patch does.
func (s statuses) Patch(_ context.Context, object client.Object, patch client.Patch,
	_ ...client.SubResourcePatchOption) error {
	return s.w.patch(object, patch, func(field string) bool { return field == "status" })
}

func (w Writer) patch(object client.Object, patch client.Patch, takes func(field string) bool) error {
	before := w.At(object)
	if before == nil {
		return notFound(object)
	}
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	var is struct{ Metadata metav1.ObjectMeta }
	var change map[string]any
	if err := errors.Join(json.Unmarshal(body, &is), json.Unmarshal(body, &change)); err != nil {
		return err
	}
	if is.Metadata.UID != "" && is.Metadata.UID != before.GetUID() ||
		is.Metadata.ResourceVersion != "" && is.Metadata.ResourceVersion != before.GetResourceVersion() {
		return conflict(object)
	}
	for field := range change {
		if !takes(field) {
			delete(change, field)
		}
	}
	after, err := merged(before, change)
	if err != nil {
		return err
	}
	if err := w.write(before, after, false); err != nil {
		return err
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(copyOf(after)).Elem())
	return nil
}

// merged returns a copy of an object with a merge patch.
func merged(object client.Object, change map[string]any) (client.Object, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var is map[string]any
	if err := json.Unmarshal(text, &is); err != nil {
		return nil, err
	}
	merge(is, change)
	if text, err = json.Marshal(is); err != nil {
		return nil, err
	}
	after, _ := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	return after, json.Unmarshal(text, after)
}

func merge(is, change map[string]any) {
	for key, value := range change {
		more, isMap := value.(map[string]any)
		switch inner, had := is[key].(map[string]any); {
		case value == nil:
			delete(is, key)
		case isMap && had:
			merge(inner, more)
		case isMap:
			inner = map[string]any{}
			merge(inner, more)
			is[key] = inner
		default:
			is[key] = value
		}
	}
}

func notFound(object client.Object) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: KindOf(object)}, object.GetName())
}

func conflict(object client.Object) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: KindOf(object)}, object.GetName(),
		errors.New("it was modified"))
}
