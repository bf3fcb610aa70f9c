package snapshot

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// hidden replaces messages of other controllers, which may contain any names.
const hidden = "hidden"

// namesIn returns the names in an object of the Gateway API: its own, and those that it refers to.
func (h *hashing) namesIn(object archive.Object) []string {
	names := []string{object.Name()}
	add := func(name gatewayv1.ObjectName, namespace *gatewayv1.Namespace) {
		names = append(names, string(name), string(ptr.Deref(namespace, "")))
	}
	switch object.Kind() {
	case gatewayClass:
		if ref := as[gatewayv1.GatewayClass](object).Spec.ParametersRef; ref != nil {
			names = append(names, ref.Name, string(ptr.Deref(ref.Namespace, "")))
		}
	case gatewayKind:
		add(as[gatewayv1.Gateway](object).Spec.GatewayClassName, nil)
	case listenerSet:
		ref := as[gatewayv1.ListenerSet](object).Spec.ParentRef
		add(ref.Name, ref.Namespace)
	}
	if route, is := routeOf(object); is {
		for i := range route.Spec.ParentRefs {
			add(route.Spec.ParentRefs[i].Name, route.Spec.ParentRefs[i].Namespace)
		}
		for _, key := range route.Services() {
			names = append(names, key.Name, key.Namespace)
		}
		names = append(names, strings.Split(route.Object.GetAnnotations()[h.language.Keys().Gateway], "/")...)
	}
	return names
}

// nameListeners notes the names that listeners get among claimants. A long one contains a hash of the name of its
// Gateway or ListenerSet.
func (h *hashing) nameListeners(object archive.Object) {
	switch object.Kind() {
	case gatewayKind:
		gateway := as[gatewayv1.Gateway](object)
		plain := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: h.name(gateway.Namespace),
			Name: h.name(gateway.Name)}}
		for i := range gateway.Spec.Listeners {
			name := gateway.Spec.Listeners[i].Name
			h.listeners[read.ListenerOfGateway(gateway, name)] = read.ListenerOfGateway(plain, name).Name
		}
	case listenerSet:
		set := as[gatewayv1.ListenerSet](object)
		plain := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: h.name(set.Namespace),
			Name: h.name(set.Name)}}
		for i := range set.Spec.Listeners {
			name := set.Spec.Listeners[i].Name
			h.listeners[read.ListenerOfSet(set, name)] = read.ListenerOfSet(plain, name).Name
		}
	}
}

// claimant returns the hash of a Service's name, or the name of a listener or route with hashes in it, such as
// listenerset/x0001-0a1b2c3d/tcp.
func (h *hashing) claimant(key types.NamespacedName) types.NamespacedName {
	hashed := types.NamespacedName{Namespace: h.name(key.Namespace), Name: h.listeners[key]}
	kind, rest, _ := strings.Cut(key.Name, "/")
	switch {
	case hashed.Name != "":
	case slices.Contains([]string{"gateway", "listenerset", "tcproute", "udproute"}, kind) && rest != "":
		object, listener, both := strings.Cut(rest, "/")
		if hashed.Name = kind + "/" + h.name(object); both {
			hashed.Name += "/" + listener
		}
	default:
		hashed.Name = h.name(key.Name)
	}
	return hashed
}

// gatewayAPI hashes the names in an object of the Gateway API. Unknown fields go. Names of listeners stay, as names of
// ports do.
func (h *hashing) gatewayAPI(object archive.Object) archive.Object {
	switch object.Kind() {
	case gatewayClass:
		class := as[gatewayv1.GatewayClass](object)
		h.gatewayClass(class)
		return fieldsOf(class, object)
	case gatewayKind:
		gateway := as[gatewayv1.Gateway](object)
		h.gateway(gateway)
		return fieldsOf(gateway, object)
	case listenerSet:
		set := as[gatewayv1.ListenerSet](object)
		h.listenerSet(set)
		return fieldsOf(set, object)
	case referenceGrant:
		grant := as[gatewayv1.ReferenceGrant](object)
		h.referenceGrant(grant)
		return fieldsOf(grant, object)
	}
	route, is := routeOf(object)
	if !is {
		return archive.Object{}
	}
	h.route(&route)
	return fieldsOf(route.Object, object)
}

func (h *hashing) meta(object metav1.Object) {
	object.SetAnnotations(h.annotations(object.GetAnnotations(), object.GetNamespace(), false))
	owners := object.GetOwnerReferences()
	for i := range owners {
		owners[i].Name = h.name(owners[i].Name)
	}
	object.SetOwnerReferences(owners)
	object.SetNamespace(h.name(object.GetNamespace()))
	object.SetName(h.name(object.GetName()))
}

// conditions hashes names in the messages of our controllers, and hides those of others.
func (h *hashing) conditions(list []metav1.Condition, areOurs bool) {
	for i := range list {
		c := &list[i]
		switch {
		case areOurs:
			c.Message = h.text(c.Message)
		case c.Message != "" && c.Message != c.Reason:
			c.Message = hidden
		}
	}
}

func (h *hashing) gatewayClass(class *gatewayv1.GatewayClass) {
	h.meta(class)
	if ref := class.Spec.ParametersRef; ref != nil {
		ref.Name = h.name(ref.Name)
		h.namespace(ref.Namespace)
	}
	keys := h.language.Keys()
	h.conditions(class.Status.Conditions, class.Spec.ControllerName == read.ControllerName(&keys))
}

func (h *hashing) gateway(gateway *gatewayv1.Gateway) {
	isServed := h.served[types.NamespacedName{Namespace: gateway.Namespace, Name: gateway.Name}]
	h.meta(gateway)
	gateway.Spec.GatewayClassName = h.objectName(gateway.Spec.GatewayClassName)
	if allowed := gateway.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil {
		h.selector(allowed.Namespaces.Selector)
	}
	for i := range gateway.Spec.Listeners {
		h.allowedRoutes(gateway.Spec.Listeners[i].AllowedRoutes)
	}
	for i := range gateway.Status.Addresses {
		address := &gateway.Status.Addresses[i]
		if _, err := netip.ParseAddr(address.Value); err != nil {
			address.Value = h.name(address.Value) + ".example"
		}
	}
	h.conditions(gateway.Status.Conditions, isServed)
	for i := range gateway.Status.Listeners {
		h.conditions(gateway.Status.Listeners[i].Conditions, isServed)
	}
}

func (h *hashing) listenerSet(set *gatewayv1.ListenerSet) {
	isServed := h.served[read.GatewayOfSet(set)]
	h.meta(set)
	set.Spec.ParentRef.Name = h.objectName(set.Spec.ParentRef.Name)
	h.namespace(set.Spec.ParentRef.Namespace)
	for i := range set.Spec.Listeners {
		h.allowedRoutes(set.Spec.Listeners[i].AllowedRoutes)
	}
	h.conditions(set.Status.Conditions, isServed)
	for i := range set.Status.Listeners {
		h.conditions(set.Status.Listeners[i].Conditions, isServed)
	}
}

func (h *hashing) route(route *read.Route) {
	h.meta(route.Object)
	for i := range route.Spec.ParentRefs {
		h.parentRef(&route.Spec.ParentRefs[i])
	}
	switch object := route.Object.(type) {
	case *gatewayv1.TCPRoute:
		for i := range object.Spec.Rules {
			h.backendRefs(object.Spec.Rules[i].BackendRefs)
		}
	case *gatewayv1.UDPRoute:
		for i := range object.Spec.Rules {
			h.backendRefs(object.Spec.Rules[i].BackendRefs)
		}
	}
	keys := h.language.Keys()
	for i := range route.Status.Parents {
		parent := &route.Status.Parents[i]
		h.parentRef(&parent.ParentRef)
		h.conditions(parent.Conditions, parent.ControllerName == read.Controller(&keys) ||
			parent.ControllerName == read.ControllerName(&keys))
	}
}

func (h *hashing) parentRef(ref *gatewayv1.ParentReference) {
	ref.Name = h.objectName(ref.Name)
	h.namespace(ref.Namespace)
}

func (h *hashing) backendRefs(refs []gatewayv1.BackendRef) {
	for i := range refs {
		refs[i].Name = h.objectName(refs[i].Name)
		h.namespace(refs[i].Namespace)
	}
}

func (h *hashing) referenceGrant(grant *gatewayv1.ReferenceGrant) {
	h.meta(grant)
	for i := range grant.Spec.From {
		h.namespace(&grant.Spec.From[i].Namespace)
	}
	for i := range grant.Spec.To {
		if name := grant.Spec.To[i].Name; name != nil {
			*name = h.objectName(*name)
		}
	}
}

// namespaceObject hashes the labels of a namespace. Selectors of Gateways have the same hashes.
func (h *hashing) namespaceObject(namespace *corev1.Namespace) {
	namespace.Name = h.name(namespace.Name)
	for key, value := range namespace.Labels {
		namespace.Labels[key] = h.value(value)
	}
}

func (h *hashing) allowedRoutes(allowed *gatewayv1.AllowedRoutes) {
	if allowed != nil && allowed.Namespaces != nil {
		h.selector(allowed.Namespaces.Selector)
	}
}

func (h *hashing) selector(selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	for key, value := range selector.MatchLabels {
		selector.MatchLabels[key] = h.value(value)
	}
	for i := range selector.MatchExpressions {
		for j, value := range selector.MatchExpressions[i].Values {
			selector.MatchExpressions[i].Values[j] = h.value(value)
		}
	}
}

func (h *hashing) objectName(name gatewayv1.ObjectName) gatewayv1.ObjectName {
	return gatewayv1.ObjectName(h.name(string(name)))
}

func (h *hashing) namespace(namespace *gatewayv1.Namespace) {
	if namespace != nil {
		*namespace = gatewayv1.Namespace(h.name(string(*namespace)))
	}
}
