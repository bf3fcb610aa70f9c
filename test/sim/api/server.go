package api

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is one of those that the server has.
type Kind string

// The kinds, by the name of their resource.
const (
	Services       Kind = "services"
	ConfigMaps     Kind = "configmaps"
	EndpointSlices Kind = "endpointslices"
	Endpoints      Kind = "endpoints"
)

// KindOf is an object's; empty for one that isn't served.
func KindOf(obj any) Kind {
	switch o := obj.(type) {
	case *corev1.Service, *corev1.ServiceList:
		return Services
	case *corev1.ConfigMap, *corev1.ConfigMapList:
		return ConfigMaps
	case *discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList:
		return EndpointSlices
	case *corev1.Endpoints, *corev1.EndpointsList: //nolint:staticcheck // deprecated, and read still
		return Endpoints
	case *metav1.PartialObjectMetadata:
		return kindNamed(o.Kind)
	case *metav1.PartialObjectMetadataList:
		return kindNamed(o.Kind)
	}
	return ""
}

// kindNamed is that of objects of which no more is asked for than what they are called.
func kindNamed(kind string) Kind {
	if strings.TrimSuffix(kind, "List") == "ConfigMap" {
		return ConfigMaps
	}
	return ""
}

// Resource is the kind in the words of an error.
func (k Kind) Resource() schema.GroupResource {
	if k == EndpointSlices {
		return discoveryv1.Resource(string(k))
	}
	return corev1.Resource(string(k))
}

// Change is something that became of an object.
type Change struct {
	Version int64
	Kind    Kind
	Key     types.NamespacedName
	// Before is nil for an object that came, After for one that went. Nobody may change them.
	Before, After client.Object
	// By says who did it: Server.By at that time.
	By string
}

// Object is the object as it is, or as it was when it went.
func (c *Change) Object() client.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Server is an API server. It is for one caller at a time.
type Server struct {
	// By is noted as the author of all changes.
	By string
	// Admit, if set, may refuse, or change, what is about to be stored: nil before for one that comes.
	Admit func(kind Kind, before, after client.Object) error

	now       func() time.Time
	version   int64
	compacted int64
	uids      int
	objects   map[Kind]map[types.NamespacedName]client.Object
	log       []Change
	numbers   numbers
}

// NewServer is empty, and goes by a clock.
func NewServer(now func() time.Time) *Server {
	s := &Server{now: now, version: 1, objects: map[Kind]map[types.NamespacedName]client.Object{}, numbers: newNumbers()}
	for _, kind := range [...]Kind{Services, ConfigMaps, EndpointSlices, Endpoints} {
		s.objects[kind] = map[types.NamespacedName]client.Object{}
	}
	return s
}

// Version is that of the last change.
func (s *Server) Version() int64 { return s.version }

// Changes are all since the server began that came after the first n.
func (s *Server) Changes(n int) []Change { return s.log[n:] }

// Peek returns an object, nil if there is none. It is the server's own: nobody may change it.
func (s *Server) Peek(kind Kind, key types.NamespacedName) client.Object { return s.objects[kind][key] }

// Keys are those of all objects of a kind, sorted.
func (s *Server) Keys(kind Kind) []types.NamespacedName { return sortedKeys(s.objects[kind]) }

func sortedKeys(objects map[types.NamespacedName]client.Object) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(objects), func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// Get returns an object for the caller to keep.
func (s *Server) Get(kind Kind, key types.NamespacedName) (client.Object, error) {
	obj := s.objects[kind][key]
	if obj == nil {
		return nil, apierrors.NewNotFound(kind.Resource(), key.Name)
	}
	return deepCopy(obj), nil
}

func deepCopy(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }

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
