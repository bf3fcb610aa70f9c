package api

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Create stores an object that isn't there yet, and returns it as it is stored.
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
	if s.objects[kind][key] != nil && validate(obj, nil) == nil {
		return nil, apierrors.NewAlreadyExists(kind.Resource(), key.Name)
	}
	if err := s.store(kind, key, nil, obj); err != nil {
		return nil, err
	}
	return deepCopy(obj), nil
}

// Update replaces an object, or its status.
func (s *Server) Update(obj client.Object, status bool) (client.Object, error) {
	kind, obj := KindOf(obj), deepCopy(obj)
	key := client.ObjectKeyFromObject(obj)
	before := s.objects[kind][key]
	switch {
	case before != nil:
		if uid := obj.GetUID(); uid != "" {
			if err := met(kind, before, &metav1.Preconditions{UID: &uid}); err != nil {
				return nil, err // to put another object is a conflict, to patch one into another is invalid
			}
		}
		return s.replace(kind, key, before, obj, status)
	case status || kind != Services:
		return nil, apierrors.NewNotFound(kind.Resource(), key.Name)
	}
	obj.SetResourceVersion("") // who puts a Service that isn't there makes one, whatever it was
	return s.Create(obj)
}

func (s *Server) replace(kind Kind, key types.NamespacedName, before, after client.Object, status bool) (client.Object, error) {
	if version := after.GetResourceVersion(); version != "" && version != before.GetResourceVersion() {
		return nil, apierrors.NewConflict(kind.Resource(), key.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := after.GetUID(); uid != "" && uid != before.GetUID() {
		return nil, invalid(before, field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	keepMeta(before, after)
	complete(after)
	prepareUpdate(before, after, status)
	if equality.Semantic.DeepEqual(before, after) {
		return deepCopy(before), nil
	}
	if before.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		if err := validate(after, before); err != nil {
			return nil, err
		}
		s.remove(kind, key)
		return after, nil
	}
	if err := s.store(kind, key, before, after); err != nil {
		return nil, err
	}
	return deepCopy(after), nil
}

// keepMeta has what only the API server sets be as it was.
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
	if err := validate(after, before); err != nil {
		return err
	}
	if s.Admit != nil {
		if err := s.Admit(kind, before, after); err != nil {
			return err
		}
	}
	if err := s.numbers.allocate(before, after); err != nil {
		return err
	}
	s.version++
	after.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[kind][key] = after
	s.log = append(s.log, Change{s.version, kind, key, before, after, s.By})
	return nil
}

// remove lets an object go. Those who watch are shown it as it last was, at the version of its end.
func (s *Server) remove(kind Kind, key types.NamespacedName) {
	last := deepCopy(s.objects[kind][key])
	s.version++
	last.SetResourceVersion(strconv.FormatInt(s.version, 10))
	delete(s.objects[kind], key)
	s.numbers.release(last)
	s.log = append(s.log, Change{s.version, kind, key, last, nil, s.By})
}

// Delete lets an object go, at once or when its finalizers have.
func (s *Server) Delete(kind Kind, key types.NamespacedName, only *metav1.Preconditions) error {
	obj := s.objects[kind][key]
	if obj == nil {
		return apierrors.NewNotFound(kind.Resource(), key.Name)
	}
	if err := met(kind, obj, only); err != nil {
		return err
	}
	last := deepCopy(obj)
	if len(obj.GetFinalizers()) == 0 {
		s.remove(kind, key)
		return nil
	}
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	now, zero := metav1.NewTime(s.now().Truncate(time.Second)), int64(0)
	last.SetDeletionTimestamp(&now)
	last.SetDeletionGracePeriodSeconds(&zero)
	if kind == EndpointSlices {
		last.SetGeneration(last.GetGeneration() + 1)
	}
	s.version++
	last.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[kind][key] = last
	s.log = append(s.log, Change{s.version, kind, key, obj, last, s.By})
	return nil
}

func met(kind Kind, obj client.Object, only *metav1.Preconditions) error {
	what := ""
	switch {
	case only == nil:
	case only.UID != nil && *only.UID != obj.GetUID():
		what = fmt.Sprintf("UID in precondition: %s, UID in object meta: %s", *only.UID, obj.GetUID())
	case only.ResourceVersion != nil && *only.ResourceVersion != obj.GetResourceVersion():
		what = fmt.Sprintf("ResourceVersion in precondition: %s, ResourceVersion in object meta: %s",
			*only.ResourceVersion, obj.GetResourceVersion())
	}
	if what == "" {
		return nil
	}
	return apierrors.NewConflict(kind.Resource(), obj.GetName(), fmt.Errorf("Precondition failed: %s", what)) //nolint:staticcheck // its words
}

// Orphans are objects all of whose owners have gone: the garbage collector would delete them.
func (s *Server) Orphans() []Change {
	there := map[types.UID]bool{}
	for _, objects := range s.objects {
		for _, obj := range objects {
			there[obj.GetUID()] = true
		}
	}
	var orphans []Change
	for _, kind := range [...]Kind{ConfigMaps, EndpointSlices, Endpoints, Services} {
		for _, key := range s.Keys(kind) {
			obj := s.objects[kind][key]
			owners := obj.GetOwnerReferences()
			if len(owners) > 0 && !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return there[o.UID] }) {
				orphans = append(orphans, Change{Kind: kind, Key: key, After: obj})
			}
		}
	}
	return orphans
}
