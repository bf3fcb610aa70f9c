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
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Kind is a kind that the server serves.
type Kind string

// The kinds, by the name of their resource.
const (
	Services       Kind = "services"
	ConfigMaps     Kind = "configmaps"
	EndpointSlices Kind = "endpointslices"
	Endpoints      Kind = "endpoints"

	Namespaces      Kind = "namespaces"
	GatewayClasses  Kind = "gatewayclasses"
	Gateways        Kind = "gateways"
	ListenerSets    Kind = "listenersets"
	TCPRoutes       Kind = "tcproutes"
	UDPRoutes       Kind = "udproutes"
	ReferenceGrants Kind = "referencegrants"
)

// KindOf returns an object's kind, or an empty kind if it isn't served.
func KindOf(obj any) Kind {
	switch o := obj.(type) {
	case *corev1.Service, *corev1.ServiceList:
		return Services
	case *corev1.ConfigMap, *corev1.ConfigMapList:
		return ConfigMaps
	case *discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList:
		return EndpointSlices
	case *corev1.Endpoints: //nolint:staticcheck // deprecated, and the takeover reads it
		return Endpoints
	case *metav1.PartialObjectMetadata:
		return kindNamed(o.Kind)
	case *metav1.PartialObjectMetadataList:
		return kindNamed(o.Kind)
	case *corev1.Namespace, *corev1.NamespaceList:
		return Namespaces
	}
	return kindOfGateways(obj)
}

// kindNamed returns the kind of objects of which only the metadata is requested.
func kindNamed(kind string) Kind {
	if strings.TrimSuffix(kind, "List") == "ConfigMap" {
		return ConfigMaps
	}
	return ""
}

// Resource returns the kind as error messages name it.
func (k Kind) Resource() schema.GroupResource {
	switch {
	case k == EndpointSlices:
		return discoveryv1.Resource(string(k))
	case k.isCustom():
		return schema.GroupResource{Group: gatewayv1.GroupName, Resource: string(k)}
	}
	return corev1.Resource(string(k))
}

// Change is a creation, update or deletion of an object.
type Change struct {
	Version int64
	Kind    Kind
	Key     types.NamespacedName
	// Before is nil for a created object, After for a deleted one. Callers must not change them.
	Before, After client.Object
	// By is the author: the value of Server.By at the time.
	By string
}

// Object returns the object after the change, or its last state if it was deleted.
func (c *Change) Object() client.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Review is a request for admission. The request is valid, and its preconditions are met.
type Review struct {
	Verb   string // create, update or delete; a patch is an update
	Status bool   // the request is for the status subresource
	Kind   Kind
	Key    types.NamespacedName
	// Before is nil for a created object, After for a deleted one. Callers must not change them.
	Before, After client.Object
}

// Server is an API server. It isn't safe for concurrent use.
type Server struct {
	// By is recorded as the author of changes.
	By string
	// Admit, if set, may refuse requests.
	Admit func(*Review) error

	now       func() time.Time
	version   int64
	compacted int64
	uids      int
	objects   map[Kind]map[types.NamespacedName]client.Object
	log       []Change
	numbers   numbers
}

// NewServer returns an empty server that uses the given clock.
func NewServer(now func() time.Time) *Server {
	s := &Server{now: now, version: 1, objects: map[Kind]map[types.NamespacedName]client.Object{}, numbers: newNumbers()}
	for _, kind := range [...]Kind{Services, ConfigMaps, EndpointSlices, Endpoints, Namespaces, GatewayClasses, Gateways,
		ListenerSets, TCPRoutes, UDPRoutes, ReferenceGrants} {
		s.objects[kind] = map[types.NamespacedName]client.Object{}
	}
	return s
}

// Version returns the version of the last change.
func (s *Server) Version() int64 { return s.version }

// Changes returns all changes after the first n.
func (s *Server) Changes(n int) []Change { return s.log[n:] }

// Peek returns the stored object, or nil. Callers must not change it.
func (s *Server) Peek(kind Kind, key types.NamespacedName) client.Object { return s.objects[kind][key] }

// Keys returns the keys of all objects of a kind, sorted.
func (s *Server) Keys(kind Kind) []types.NamespacedName { return sortedKeys(s.objects[kind]) }

// sortedKeys sorts keys as etcd does: by their paths, so that namespace a-b is before a.
func sortedKeys(objects map[types.NamespacedName]client.Object) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(objects), byName)
}

// byName compares as etcd does: a-b/x is before a/x.
func byName(a, b types.NamespacedName) int {
	return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
}

// Get returns a copy of an object.
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
