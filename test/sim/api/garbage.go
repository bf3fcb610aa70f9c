package api

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Orphans returns what the garbage collector would do now. An object whose owners are all gone must be deleted: its
// After is nil. An object with another remaining owner must lose the references to missing owners: its After is without
// them.
func (s *Server) Orphans() []Change {
	var orphans []Change
	for _, kind := range [...]Kind{ConfigMaps, EndpointSlices, Endpoints, Services, ListenerSets} {
		from := len(orphans)
		for key, obj := range s.objects[kind] {
			if after, is := s.disown(obj); is {
				orphans = append(orphans, Change{Kind: kind, Key: key, Before: obj, After: after})
			}
		}
		slices.SortFunc(orphans[from:], func(a, b Change) int { return byName(a.Key, b.Key) })
	}
	return orphans
}

// Collect carries out a change that Orphans returned, if the object is unchanged since.
func (s *Server) Collect(c *Change) error {
	if c.After == nil {
		uid, version := c.Before.GetUID(), c.Before.GetResourceVersion()
		return s.Delete(c.Kind, c.Key, &metav1.Preconditions{UID: &uid, ResourceVersion: &version})
	}
	_, err := s.Update(c.After, false)
	return err
}

// disown returns whether the garbage collector must change an object, and the changed object. It leaves alone objects
// that are being deleted, and objects with an owner of an unserved kind, whose existence is unknown.
func (s *Server) disown(obj client.Object) (client.Object, bool) {
	owners := obj.GetOwnerReferences()
	if len(owners) == 0 {
		return nil, false
	}
	gone := map[types.UID]bool{}
	for i := range owners {
		kind := kindOfOwner(&owners[i])
		if kind == "" {
			return nil, false
		}
		owner := s.objects[kind][types.NamespacedName{Namespace: obj.GetNamespace(), Name: owners[i].Name}]
		if owner == nil || owner.GetUID() != owners[i].UID {
			gone[owners[i].UID] = true
		}
	}
	if len(gone) == 0 || obj.GetDeletionTimestamp() != nil {
		return nil, false
	}
	left := slices.DeleteFunc(slices.Clone(owners), func(o metav1.OwnerReference) bool { return gone[o.UID] })
	if len(left) == 0 {
		return nil, true
	}
	after := deepCopy(obj)
	after.SetOwnerReferences(left)
	return after, true
}

// kindOfOwner returns the kind that a reference names, or an empty kind if it isn't served.
func kindOfOwner(o *metav1.OwnerReference) Kind {
	switch {
	case o.APIVersion == discoveryv1.SchemeGroupVersion.String() && o.Kind == "EndpointSlice":
		return EndpointSlices
	case o.APIVersion == gatewayv1.GroupVersion.String():
		return map[string]Kind{"Gateway": Gateways, "TCPRoute": TCPRoutes, "UDPRoute": UDPRoutes}[o.Kind]
	case o.APIVersion != corev1.SchemeGroupVersion.String():
		return ""
	}
	return map[string]Kind{"Service": Services, "ConfigMap": ConfigMaps, "Endpoints": Endpoints}[o.Kind]
}
