package read

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// GatewayOfSet returns the Gateway that a ListenerSet attaches to.
func GatewayOfSet(set *gatewayv1.ListenerSet) types.NamespacedName {
	ref := &set.Spec.ParentRef
	if ref.Kind != nil && *ref.Kind != "Gateway" || ref.Group != nil && *ref.Group != gatewayv1.GroupName {
		return types.NamespacedName{}
	}
	key := types.NamespacedName{Namespace: set.Namespace, Name: string(ref.Name)}
	if ref.Namespace != nil {
		key.Namespace = string(*ref.Namespace)
	}
	return key
}

// IsMade is true for a ListenerSet that the allocator made.
func IsMade(keys *validation.Keys, set *gatewayv1.ListenerSet) bool {
	_, is := MadeFor(set)
	return is && set.Labels[keys.Managed] == "true"
}

// IsMadeFor is true for a ListenerSet that the allocator made for a route. The route may have been created again since.
func IsMadeFor(keys *validation.Keys, set *gatewayv1.ListenerSet, route *Route) bool {
	made, _ := MadeFor(set)
	return IsMade(keys, set) && made == route.Key()
}

// MadeFor returns the route that a ListenerSet is for, as its owner tells.
func MadeFor(set *gatewayv1.ListenerSet) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOf(set)
	if owner == nil || owner.Kind != TCPRoute && owner.Kind != UDPRoute {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: set.Namespace, Name: strings.ToLower(owner.Kind) + "/" + owner.Name}, true
}

// SlotsOf returns the numbers of a ListenerSet, each under the name of its listener.
func SlotsOf(set *gatewayv1.ListenerSet) []Listening {
	var all []Listening
	for i := range set.Spec.Listeners {
		l := &set.Spec.Listeners[i]
		all = append(all, Listening{"listener " + string(l.Name) + " of ListenerSet " + set.Namespace + "/" + set.Name,
			plan.Slot{Number: l.Port, Protocol: transportOf(l.Protocol)}})
	}
	return all
}

// ListenerSet is the ListenerSet that gives a route the number of a claim.
func ListenerSet(keys *validation.Keys, route *Route, name string, gateway types.NamespacedName,
	claim *plan.Claim) *gatewayv1.ListenerSet {
	return &gatewayv1.ListenerSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: route.Object.GetNamespace(), Name: name, Labels: map[string]string{keys.Managed: "true"},
			Annotations: map[string]string{keys.PortName: claim.MuxName},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: gatewayv1.GroupVersion.String(), Kind: route.Kind, Name: route.Object.GetName(),
				UID: route.Object.GetUID(), Controller: ptr.To(true),
			}},
		},
		Spec: gatewayv1.ListenerSetSpec{
			ParentRef: gatewayv1.ParentGatewayReference{
				Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)), Kind: ptr.To(gatewayv1.Kind("Gateway")),
				Namespace: ptr.To(gatewayv1.Namespace(gateway.Namespace)), Name: gatewayv1.ObjectName(gateway.Name),
			},
			Listeners: []gatewayv1.ListenerEntry{{
				Name: gatewayv1.SectionName(route.ListenerName()), Port: claim.Public,
				Protocol: gatewayv1.ProtocolType(route.Protocol()),
				AllowedRoutes: &gatewayv1.AllowedRoutes{
					Namespaces: &gatewayv1.RouteNamespaces{From: ptr.To(gatewayv1.NamespacesFromSame)},
					Kinds: []gatewayv1.RouteGroupKind{{Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)),
						Kind: gatewayv1.Kind(route.Kind)}},
				},
			}},
		},
	}
}

// Same is true if a ListenerSet is as the allocator wants it. Labels and annotations of others don't count.
func Same(keys *validation.Keys, is, want *gatewayv1.ListenerSet) bool {
	return equality.Semantic.DeepEqual(is.Spec, want.Spec) && is.Labels[keys.Managed] == "true" &&
		is.Annotations[keys.PortName] == want.Annotations[keys.PortName] &&
		slices.EqualFunc(is.OwnerReferences, want.OwnerReferences, sameOwner)
}

func sameOwner(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && ptr.Deref(a.Controller, false) == ptr.Deref(b.Controller, false)
}

// Corrected returns a copy of a ListenerSet as the allocator wants it, with the labels and annotations of others.
func Corrected(is, want *gatewayv1.ListenerSet) *gatewayv1.ListenerSet {
	now := is.DeepCopy()
	now.Spec, now.OwnerReferences = *want.Spec.DeepCopy(), want.OwnerReferences
	if now.Labels == nil {
		now.Labels = map[string]string{}
	}
	if now.Annotations == nil {
		now.Annotations = map[string]string{}
	}
	maps.Copy(now.Labels, want.Labels)
	maps.Copy(now.Annotations, want.Annotations)
	return now
}
