package api

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// Review is a request that admission is asked about: a valid one, of an object that is as expected.
type Review struct {
	Verb   string // create, update or delete: a patch is an update
	Status bool   // it is about the subresource
	Kind   Kind
	Key    types.NamespacedName
	// Before is nil for an object that comes, After for one that goes. Nobody may change them.
	Before, After client.Object
}

// Server is an API server. It is for one caller at a time.
type Server struct {
	// By is noted as the author of all changes.
	By string
	// Admit, if set, may refuse what is about to be done.
	Admit func(*Review) error

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

// sortedKeys are in the order in which they are kept in etcd: by their paths, so that namespace a-b is before a.
func sortedKeys(objects map[types.NamespacedName]client.Object) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(objects), func(a, b types.NamespacedName) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
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

func (s *Server) admit(r *Review) error {
	if s.Admit == nil {
		return nil
	}
	return s.Admit(r)
}

func deepCopy(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }
