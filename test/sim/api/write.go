package api

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Create stores a new object, and returns the stored object.
func (s *Server) Create(obj client.Object) (client.Object, error) {
	kind, obj := KindOf(obj), deepCopy(obj)
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(fmt.Sprintf("%s%05d", obj.GetGenerateName(), s.uids))
	}
	key := client.ObjectKeyFromObject(obj)
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	s.uids++
	obj.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", s.uids)))
	obj.SetCreationTimestamp(metav1.NewTime(s.now().Truncate(time.Second)))
	obj.SetDeletionTimestamp(nil)
	obj.SetGeneration(0)
	complete(obj)
	prepareCreate(obj)
	if err := validate(obj, nil); err != nil {
		return nil, err
	}
	if err := s.admit(&Review{Verb: "create", Kind: kind, Key: key, After: obj}); err != nil {
		return nil, err
	}
	if err := s.numbers.askedFor(nil, obj); err != nil {
		return nil, err
	}
	if s.objects[kind][key] != nil {
		return nil, apierrors.NewAlreadyExists(kind.Resource(), key.Name)
	}
	if err := s.store(kind, key, nil, obj); err != nil {
		return nil, err
	}
	return deepCopy(obj), nil
}

// Update replaces an object or its status.
func (s *Server) Update(obj client.Object, status bool) (client.Object, error) {
	kind, obj := KindOf(obj), deepCopy(obj)
	key := client.ObjectKeyFromObject(obj)
	before := s.objects[kind][key]
	switch {
	case before != nil:
		if uid := obj.GetUID(); uid != "" {
			if err := met(kind, before, &metav1.Preconditions{UID: &uid}); err != nil {
				return nil, err // for an update, another UID is a conflict; for a patch, it is invalid
			}
		}
		return s.replace(kind, key, before, obj, status)
	case status || kind != Services:
		return nil, apierrors.NewNotFound(kind.Resource(), key.Name)
	}
	// A PUT of a missing object of this kind creates it and ignores its version. But a UID in the object is a
	// precondition, which fails.
	if uid := obj.GetUID(); uid != "" {
		return nil, unmet(kind, key.Name, "UID in precondition: %s, UID in object meta: ", uid)
	}
	obj.SetResourceVersion("")
	return s.Create(obj)
}

func (s *Server) replace(kind Kind, key types.NamespacedName, before, after client.Object, status bool) (client.Object,
	error) {
	if version := after.GetResourceVersion(); version != "" && version != before.GetResourceVersion() {
		return nil, apierrors.NewConflict(kind.Resource(), key.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := after.GetUID(); uid != "" && uid != before.GetUID() {
		return nil, invalid(before, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	keepMeta(before, after)
	complete(after)
	prepareUpdate(before, after, status)
	if err := twice(after); err != nil {
		return nil, err
	}
	if err := validate(after, before); err != nil {
		return nil, err
	}
	if err := s.admit(&Review{Verb: "update", Status: status, Kind: kind, Key: key, Before: before,
		After: after}); err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(before, after) {
		return deepCopy(before), nil
	}
	if before.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		s.remove(kind, key)
		return after, nil
	}
	if err := s.store(kind, key, before, after); err != nil {
		return nil, err
	}
	return deepCopy(after), nil
}

// keepMeta restores the metadata that only the API server sets.
func keepMeta(before, after client.Object) {
	after.SetUID(before.GetUID())
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	after.SetGeneration(before.GetGeneration())
	after.SetManagedFields(nil)
}

func (s *Server) store(kind Kind, key types.NamespacedName, before, after client.Object) error {
	if err := s.numbers.allocate(before, after); err != nil {
		return err
	}
	s.version++
	after.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[kind][key] = after
	s.log = append(s.log, Change{s.version, kind, key, before, after, s.By})
	return nil
}

// remove deletes an object. Watches get its last state at the version of the deletion.
func (s *Server) remove(kind Kind, key types.NamespacedName) {
	last := deepCopy(s.objects[kind][key])
	s.version++
	last.SetResourceVersion(strconv.FormatInt(s.version, 10))
	delete(s.objects[kind], key)
	s.numbers.release(last)
	s.log = append(s.log, Change{s.version, kind, key, last, nil, s.By})
}

// Delete deletes an object, at once or after its last finalizer is removed.
func (s *Server) Delete(kind Kind, key types.NamespacedName, only *metav1.Preconditions) error {
	obj := s.objects[kind][key]
	if obj == nil {
		return apierrors.NewNotFound(kind.Resource(), key.Name)
	}
	if err := met(kind, obj, only); err != nil {
		return err
	}
	if err := s.admit(&Review{Verb: "delete", Kind: kind, Key: key, Before: obj}); err != nil {
		return err
	}
	s.end(kind, key)
	return nil
}

func (s *Server) end(kind Kind, key types.NamespacedName) {
	obj := s.objects[kind][key]
	switch {
	case len(obj.GetFinalizers()) == 0:
		s.remove(kind, key)
	case obj.GetDeletionTimestamp() == nil:
		s.markDeleted(kind, key)
	}
}

func (s *Server) markDeleted(kind Kind, key types.NamespacedName) {
	obj := s.objects[kind][key]
	last := deepCopy(obj)
	now, zero := metav1.NewTime(s.now().Truncate(time.Second)), int64(0)
	last.SetDeletionTimestamp(&now)
	last.SetDeletionGracePeriodSeconds(&zero)
	if kind == EndpointSlices || kind.isCustom() {
		last.SetGeneration(last.GetGeneration() + 1)
	}
	s.version++
	last.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[kind][key] = last
	s.log = append(s.log, Change{s.version, kind, key, obj, last, s.By})
}

func met(kind Kind, obj client.Object, only *metav1.Preconditions) error {
	switch {
	case only == nil:
	case only.UID != nil && *only.UID != obj.GetUID():
		return unmet(kind, obj.GetName(), "UID in precondition: %s, UID in object meta: %s", *only.UID, obj.GetUID())
	case only.ResourceVersion != nil && *only.ResourceVersion != obj.GetResourceVersion():
		return unmet(kind, obj.GetName(), "ResourceVersion in precondition: %s, ResourceVersion in object meta: %s",
			*only.ResourceVersion, obj.GetResourceVersion())
	}
	return nil
}

func unmet(kind Kind, name, words string, values ...any) error {
	return apierrors.NewConflict(kind.Resource(), name, fmt.Errorf("Precondition failed: "+words, values...))
}
