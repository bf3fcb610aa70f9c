package line

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/gatewaytest"
)

// The reference judges the objects of a shelf by the specification, slowly and simply. It shares no code with package
// read.

// refListener is a listener with its owner: a Gateway, or a ListenerSet that the Gateway admits.
type refListener struct {
	kind, namespace, owner string
	precedence             int // of its owner
	gatewayv1.ListenerEntry
}

func (l *refListener) name() string {
	return fmt.Sprintf("%s/%s/%s/%s", l.namespace, strings.ToLower(l.kind), l.owner, l.Name)
}

// refRoute is a route of either kind.
type refRoute struct {
	kind   string
	object client.Object
	refs   []gatewayv1.ParentReference
	rules  [][]gatewayv1.BackendRef
	status *gatewayv1.RouteStatus
}

// reference is a judgement about a Gateway.
type reference struct {
	*gatewaytest.Shelf
	gateway    *gatewayv1.Gateway
	onGateways bool
	listeners  []refListener
	sets       []*gatewayv1.ListenerSet // that name the Gateway
	routes     []refRoute               // of the whole cluster, the oldest first
}

func allRoutes(s *gatewaytest.Shelf) (all []refRoute) {
	for _, r := range gatewaytest.Of[*gatewayv1.TCPRoute](s) {
		route := refRoute{kind: "TCPRoute", object: r, refs: r.Spec.ParentRefs, status: &r.Status.RouteStatus}
		for _, rule := range r.Spec.Rules {
			route.rules = append(route.rules, rule.BackendRefs)
		}
		all = append(all, route)
	}
	for _, r := range gatewaytest.Of[*gatewayv1.UDPRoute](s) {
		route := refRoute{kind: "UDPRoute", object: r, refs: r.Spec.ParentRefs, status: &r.Status.RouteStatus}
		for _, rule := range r.Spec.Rules {
			route.rules = append(route.rules, rule.BackendRefs)
		}
		all = append(all, route)
	}
	slices.SortStableFunc(all, func(a, b refRoute) int { return older(a.object, b.object) })
	return all
}

// older sorts by age, then by namespace and name.
func older(a, b client.Object) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		strings.Compare(client.ObjectKeyFromObject(a).String(), client.ObjectKeyFromObject(b).String()))
}

func refer(s *gatewaytest.Shelf, gateway *gatewayv1.Gateway, onGateways bool) *reference {
	r := &reference{Shelf: s, gateway: gateway, onGateways: onGateways, routes: allRoutes(s)}
	for _, l := range gateway.Spec.Listeners {
		r.listeners = append(r.listeners, refListener{"Gateway", gateway.Namespace, gateway.Name, 0,
			gatewayv1.ListenerEntry{Name: l.Name, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes}})
	}
	for _, set := range gatewaytest.Of[*gatewayv1.ListenerSet](s) {
		if string(set.Spec.ParentRef.Name) == gateway.Name &&
			string(ptr.Deref(set.Spec.ParentRef.Namespace, gatewayv1.Namespace(set.Namespace))) == gateway.Namespace {
			r.sets = append(r.sets, set)
		}
	}
	slices.SortStableFunc(r.sets, func(a, b *gatewayv1.ListenerSet) int { return older(a, b) })
	for i, set := range r.sets {
		if !r.admits(set) {
			continue
		}
		for _, entry := range set.Spec.Listeners {
			r.listeners = append(r.listeners, refListener{"ListenerSet", set.Namespace, set.Name, i + 1, entry})
		}
	}
	return r
}

func (r *reference) labels(namespace string) labels.Set {
	if n := gatewaytest.Get[*corev1.Namespace](r.Shelf, "", namespace); n != nil {
		return n.Labels
	}
	return nil
}

func (r *reference) isIn(from gatewayv1.FromNamespaces, selector *metav1.LabelSelector, own, namespace string) bool {
	switch from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return own == namespace
	case gatewayv1.NamespacesFromSelector:
		for key, value := range selector.MatchLabels {
			if r.labels(namespace)[key] != value {
				return false
			}
		}
		return true
	}
	return false
}

func (r *reference) admits(set *gatewayv1.ListenerSet) bool {
	allowed := r.gateway.Spec.AllowedListeners
	return allowed != nil &&
		r.isIn(*allowed.Namespaces.From, allowed.Namespaces.Selector, r.gateway.Namespace, set.Namespace)
}

// isServed is true for a listener of TCP or UDP that may carry routes, unless another listener has its number and comes
// first or is in the same object.
func (r *reference) isServed(l *refListener) bool {
	if r.carries(l) == "" {
		return false
	}
	for i := range r.listeners {
		other := &r.listeners[i]
		isUDP := func(l *refListener) bool { return l.Protocol == gatewayv1.UDPProtocolType }
		if other.name() != l.name() && other.Port == l.Port && isUDP(other) == isUDP(l) && other.precedence <= l.precedence {
			return false
		}
	}
	return true
}

// carries is the kind of routes that a listener carries; empty if it carries none.
func (r *reference) carries(l *refListener) string {
	kind := map[gatewayv1.ProtocolType]string{gatewayv1.TCPProtocolType: "TCPRoute",
		gatewayv1.UDPProtocolType: "UDPRoute"}[l.Protocol]
	if l.AllowedRoutes != nil && len(l.AllowedRoutes.Kinds) > 0 &&
		!slices.ContainsFunc(l.AllowedRoutes.Kinds, func(k gatewayv1.RouteGroupKind) bool { return string(k.Kind) == kind }) {
		return ""
	}
	return kind
}

// isParent is true for a parentRef to the Gateway or to a ListenerSet that names it.
func (r *reference) isParent(route *refRoute, ref *gatewayv1.ParentReference) bool {
	namespace := string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(route.object.GetNamespace())))
	if ptr.Deref(ref.Kind, "Gateway") == "Gateway" {
		return namespace == r.gateway.Namespace && string(ref.Name) == r.gateway.Name
	}
	return slices.ContainsFunc(r.sets, func(s *gatewayv1.ListenerSet) bool {
		return s.Namespace == namespace && s.Name == string(ref.Name)
	})
}

func (r *reference) attaches(route *refRoute, ref *gatewayv1.ParentReference, l *refListener) bool {
	switch {
	case string(ptr.Deref(ref.Kind, "Gateway")) != l.kind, string(ref.Name) != l.owner,
		string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(route.object.GetNamespace()))) != l.namespace,
		ref.SectionName != nil && *ref.SectionName != l.Name, ref.Port != nil && *ref.Port != l.Port,
		r.carries(l) != route.kind, !r.onGateways && r.hasUnequalWeights(route):
		return false
	case l.AllowedRoutes == nil || l.AllowedRoutes.Namespaces == nil:
		return route.object.GetNamespace() == l.namespace
	}
	return r.isIn(*l.AllowedRoutes.Namespaces.From, l.AllowedRoutes.Namespaces.Selector, l.namespace,
		route.object.GetNamespace())
}

func (r *reference) isAccepted(route *refRoute, ref *gatewayv1.ParentReference) bool {
	return slices.ContainsFunc(r.listeners, func(l refListener) bool { return r.attaches(route, ref, &l) })
}

func (r *reference) hasUnequalWeights(route *refRoute) bool {
	weights := map[int32]bool{}
	for _, rule := range route.rules {
		for _, ref := range rule {
			weights[ptr.Deref(ref.Weight, 1)] = true
		}
	}
	delete(weights, 0)
	return len(weights) > 1
}

// attached are the routes of a listener, the oldest first.
func (r *reference) attached(l *refListener) (all []*refRoute) {
	for i := range r.routes {
		route := &r.routes[i]
		if slices.ContainsFunc(route.refs, func(ref gatewayv1.ParentReference) bool {
			return r.isParent(route, &ref) && r.attaches(route, &ref, l)
		}) {
			all = append(all, route)
		}
	}
	return all
}

// backends returns the weights of the ports that a listener sends packets to.
func (r *reference) backends(l *refListener) map[string]int32 {
	all := map[string]int32{}
	if routes := r.attached(l); len(routes) > 0 {
		for _, rule := range routes[0].rules {
			for i := range rule {
				if port, is := r.portOf(routes[0], &rule[i]); is && ptr.Deref(rule[i].Weight, 1) > 0 {
					all[port] += ptr.Deref(rule[i].Weight, 1)
				}
			}
		}
	}
	return all
}

// portOf returns the Service's port that a backend names; false if there is none, or no grant for it.
func (r *reference) portOf(route *refRoute, ref *gatewayv1.BackendRef) (string, bool) {
	key := types.NamespacedName{
		Namespace: string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(route.object.GetNamespace()))), Name: string(ref.Name)}
	svc := gatewaytest.Get[*corev1.Service](r.Shelf, key.Namespace, key.Name)
	if svc == nil || ptr.Deref(ref.Kind, "Service") != "Service" || !r.isGranted(route, key) {
		return "", false
	}
	for _, port := range svc.Spec.Ports {
		if port.Port == *ref.Port && (port.Protocol == corev1.ProtocolUDP) == (route.kind == "UDPRoute") {
			return key.String() + " " + port.Name, true
		}
	}
	return "", false
}

func (r *reference) isGranted(route *refRoute, to types.NamespacedName) bool {
	if to.Namespace == route.object.GetNamespace() {
		return true
	}
	for _, grant := range gatewaytest.Of[*gatewayv1.ReferenceGrant](r.Shelf) {
		from, target := grant.Spec.From[0], grant.Spec.To[0]
		if grant.Namespace == to.Namespace && string(from.Kind) == route.kind &&
			string(from.Namespace) == route.object.GetNamespace() &&
			(target.Name == nil || string(*target.Name) == to.Name) {
			return true
		}
	}
	return false
}

func (r *reference) isResolved(route *refRoute) bool {
	for _, rule := range route.rules {
		for i := range rule {
			if _, is := r.portOf(route, &rule[i]); !is {
				return false
			}
		}
	}
	return true
}
