package read

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// Kinds of routes that may ask for a number.
const (
	TCPRoute = "TCPRoute"
	UDPRoute = "UDPRoute"
)

// Object is a route as Kubernetes' clients know it.
type Object interface {
	metav1.Object
	runtime.Object
}

// Route is a TCPRoute or a UDPRoute.
type Route struct {
	Kind string
	// Object is the route itself. It may belong to a cache: never change it.
	Object metav1.Object
	Spec   *gatewayv1.CommonRouteSpec
	Status *gatewayv1.RouteStatus
	refs   []gatewayv1.BackendRef
}

// NewRoute returns an empty route of a kind.
func NewRoute(kind string) Object {
	if kind == UDPRoute {
		return &gatewayv1.UDPRoute{}
	}
	return &gatewayv1.TCPRoute{}
}

// RouteOf returns the route that an object is; false if the object is no route.
func RouteOf(object any) (Route, bool) {
	switch r := object.(type) {
	case *gatewayv1.TCPRoute:
		route := Route{Kind: TCPRoute, Object: r, Spec: &r.Spec.CommonRouteSpec, Status: &r.Status.RouteStatus}
		for i := range r.Spec.Rules {
			route.refs = append(route.refs, r.Spec.Rules[i].BackendRefs...)
		}
		return route, true
	case *gatewayv1.UDPRoute:
		route := Route{Kind: UDPRoute, Object: r, Spec: &r.Spec.CommonRouteSpec, Status: &r.Status.RouteStatus}
		for i := range r.Spec.Rules {
			route.refs = append(route.refs, r.Spec.Rules[i].BackendRefs...)
		}
		return route, true
	}
	return Route{}, false
}

// backendPort is the port of the first backend that has one; otherwise 1.
func (r *Route) backendPort() int32 {
	for i := range r.refs {
		if r.refs[i].Port != nil {
			return *r.refs[i].Port
		}
	}
	return 1
}

// Protocol is the protocol of the route's kind.
func (r *Route) Protocol() corev1.Protocol {
	if r.Kind == UDPRoute {
		return corev1.ProtocolUDP
	}
	return corev1.ProtocolTCP
}

// ListenerName is the name of the listener that the route gets, and of the port in claims.
func (r *Route) ListenerName() string { return strings.ToLower(string(r.Protocol())) }

// Key names the route among the channels of a mux.
func (r *Route) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Object.GetNamespace(),
		Name: strings.ToLower(r.Kind) + "/" + r.Object.GetName()}
}

// RouteNamed returns the kind and the name of the route that a key names; false if it names none.
func RouteNamed(key types.NamespacedName) (kind string, name types.NamespacedName, is bool) {
	prefix, rest, _ := strings.Cut(key.Name, "/")
	for _, kind := range [...]string{TCPRoute, UDPRoute} {
		if prefix == strings.ToLower(kind) {
			return kind, types.NamespacedName{Namespace: key.Namespace, Name: rest}, true
		}
	}
	return "", types.NamespacedName{}, false
}

// ListenerSets returns the names of the ListenerSets of its own namespace that the route's parentRefs name.
func (r *Route) ListenerSets() []string {
	var names []string
	for i := range r.Spec.ParentRefs {
		if ref := &r.Spec.ParentRefs[i]; refersToListenerSet(ref, r.Object.GetNamespace()) {
			names = append(names, string(ref.Name))
		}
	}
	return names
}

func refersToListenerSet(ref *gatewayv1.ParentReference, namespace string) bool {
	return ref.Kind != nil && *ref.Kind == "ListenerSet" && (ref.Group == nil || *ref.Group == gatewayv1.GroupName) &&
		(ref.Namespace == nil || string(*ref.Namespace) == namespace)
}

// Controller is the name under which the allocator writes into the status of routes.
func Controller(keys *validation.Keys) gatewayv1.GatewayController {
	prefix, _, _ := strings.Cut(keys.Ports, "/")
	return gatewayv1.GatewayController(prefix + "/allocator")
}

// Said returns the allocator's entry in the route's status; nil without one.
func (r *Route) Said(keys *validation.Keys) *gatewayv1.RouteParentStatus {
	at := slices.IndexFunc(r.Status.Parents, func(p gatewayv1.RouteParentStatus) bool {
		return p.ControllerName == Controller(keys)
	})
	if at < 0 {
		return nil
	}
	return &r.Status.Parents[at]
}

// AsksForNumber is true for a route that asks for a number on a Gateway.
func (r *Route) AsksForNumber(l validation.Language) bool {
	return l.AsksForNumber(&metav1.ObjectMeta{Annotations: r.Object.GetAnnotations()})
}

// Channel reads a route that asks for a number as a channel with one port.
func (r *Route) Channel(l validation.Language) (plan.ObservedChannel, validation.Route) {
	keys := l.Keys()
	route, found := l.ParseRoute(&metav1.ObjectMeta{
		Namespace: r.Object.GetNamespace(), Name: r.Object.GetName(), UID: r.Object.GetUID(),
		ResourceVersion:   r.Object.GetResourceVersion(),
		CreationTimestamp: r.Object.GetCreationTimestamp(), DeletionTimestamp: r.Object.GetDeletionTimestamp(),
		Annotations: r.Object.GetAnnotations(),
	}, r.ListenerSets())
	channel := plan.ObservedChannel{Problems: found.Problems, Channel: validation.Channel{
		Object: route.Object, Mux: MuxKey(route.Gateway), Disabled: route.Disabled,
		Ports: []validation.ChannelPort{{Name: r.ListenerName(), Protocol: r.Protocol(), Port: r.backendPort(),
			Request: route.Request}},
	}}
	channel.Key = r.Key()
	if route.Recorded > 0 {
		channel.Recorded = []validation.PortMapping{{Name: r.ListenerName(), Port: r.backendPort(), Public: route.Recorded}}
		channel.PortsNote = validation.FormatPorts(channel.Recorded)
	}
	if said := r.Said(&keys); said != nil {
		channel.Conditions = said.Conditions
	}
	return channel, route
}
