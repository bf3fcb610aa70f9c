package sim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/test/sim/api"
)

// gateways are the names of all Gateways, which are in the namespace of the muxes.
func gateways() []string { return []string{"edge", "side"} }

// muxOf names the mux of a Gateway.
func muxOf(gateway string) types.NamespacedName {
	return types.NamespacedName{Namespace: muxNamespace, Name: "gateway-" + gateway}
}

// The GatewayClasses: ours, one of another controller, and one that doesn't exist.
const (
	ourClass     = "mux"
	foreignClass = "other"
	noClass      = "nothing"
)

// beginGateways creates namespaces, GatewayClasses with a template for muxes, and sometimes a Gateway.
func (w *world) beginGateways() {
	for _, name := range []string{muxNamespace, "app", "other"} {
		w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, false)
	}
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: muxNamespace, Name: "template"},
		Data: map[string]string{"service": fmt.Sprintf("metadata: {annotations: {%s: 203-207}}", w.key("port-range"))}},
		false)
	w.createClass()
	w.put(&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: foreignClass},
		Spec: gatewayv1.GatewayClassSpec{ControllerName: "example.com/other"}}, false)
	if w.chance(80) {
		w.gateway(gateways()[0])
	}
}

func (w *world) createClass() string {
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: ourClass}}
	class.Spec.ControllerName = gatewayv1.GatewayController(w.key("gateway"))
	class.Spec.ParametersRef = &gatewayv1.ParametersReference{Kind: "ConfigMap", Name: "template",
		Namespace: ptr.To(gatewayv1.Namespace(muxNamespace))}
	return "GatewayClass " + ourClass + " is made" + w.put(class, false)
}

// gatewayDeed is something that people do with objects of the Gateway API.
func (w *world) gatewayDeed() string {
	switch n := w.rng.IntN(100); {
	case w.Seed >= Fed && w.chance(50):
		return w.fedRoute()
	case n < 30:
		return w.gateway(pick(w.Sim, gateways()...))
	case n < 55:
		return w.listenerSet()
	case n < 85:
		return w.route()
	case n < 91:
		return w.grant()
	case n < 94:
		return w.wipeStatus()
	case n < 98:
		return w.provider()
	}
	if w.server.Peek(api.GatewayClasses, types.NamespacedName{Name: ourClass}) == nil {
		return w.createClass()
	}
	w.drop(api.GatewayClasses, types.NamespacedName{Name: ourClass})
	return "GatewayClass " + ourClass + " is deleted"
}

// own returns a copy of an object, or the given empty object with that key if there is none. In one of five cases it
// deletes an existing object instead, and returns false.
func own[T client.Object](w *world, key types.NamespacedName, empty T) (T, bool) {
	kind := api.KindOf(empty)
	if is := w.server.Peek(kind, key); is != nil {
		if w.chance(20) {
			w.drop(kind, key)
			return empty, false
		}
		return is.DeepCopyObject().(T), true
	}
	empty.SetNamespace(key.Namespace)
	empty.SetName(key.Name)
	return empty, true
}

func (w *world) gateway(name string) string {
	key := types.NamespacedName{Namespace: muxNamespace, Name: name}
	gateway, is := own(w, key, &gatewayv1.Gateway{})
	if !is {
		return fmt.Sprintf("Gateway %s is deleted", key)
	}
	spec := &gateway.Spec
	switch {
	case spec.GatewayClassName == "":
		spec.GatewayClassName = ourClass
		spec.Listeners, spec.AllowedListeners = w.gatewayListeners(), w.allowedListeners()
	case w.chance(12):
		spec.GatewayClassName = gatewayv1.ObjectName(pick(w.Sim, ourClass, ourClass, foreignClass, noClass))
	case spec.GatewayClassName != ourClass && w.chance(60):
		spec.GatewayClassName = ourClass
	case w.chance(30):
		spec.AllowedListeners = w.allowedListeners()
	default:
		spec.Listeners = w.gatewayListeners()
	}
	text := fmt.Sprintf("Gateway %s of class %s has listeners", key, spec.GatewayClassName)
	for _, l := range spec.Listeners {
		text += fmt.Sprintf(" %s=%d/%s", l.Name, l.Port, l.Protocol)
	}
	return text + fmt.Sprintf(", and admits ListenerSets of %s%s", *spec.AllowedListeners.Namespaces.From,
		w.put(gateway, false))
}

func (w *world) allowedListeners() *gatewayv1.AllowedListeners {
	from := pick(w.Sim, gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromAll,
		gatewayv1.NamespacesFromSame)
	return &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &from}}
}

func (w *world) gatewayListeners() (all []gatewayv1.Listener) {
	for _, l := range w.listeners() {
		all = append(all, gatewayv1.Listener{Name: l.Name, Port: l.Port, Protocol: l.Protocol,
			AllowedRoutes: l.AllowedRoutes})
	}
	return all
}

// listeners returns up to three listeners. Their numbers differ, as the API server requires.
func (w *world) listeners() (all []gatewayv1.ListenerEntry) {
	for _, name := range []gatewayv1.SectionName{"a", "b", "c"}[:1+w.rng.IntN(3)] {
		from := pick(w.Sim, gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromSame)
		l := gatewayv1.ListenerEntry{Name: name, Port: pick(w.Sim, gatewayv1.PortNumber(100), 102, 110, 203, 204, 205),
			Protocol: pick(w.Sim, gatewayv1.TCPProtocolType, gatewayv1.TCPProtocolType, gatewayv1.TCPProtocolType,
				gatewayv1.UDPProtocolType, gatewayv1.HTTPProtocolType),
			AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &from}}}
		if !slices.ContainsFunc(all, func(other gatewayv1.ListenerEntry) bool {
			return other.Port == l.Port && other.Protocol == l.Protocol
		}) {
			all = append(all, l)
		}
	}
	return all
}

func (w *world) listenerSet() string {
	key := types.NamespacedName{Namespace: pick(w.Sim, "app", "other"), Name: "s"}
	set, is := own(w, key, &gatewayv1.ListenerSet{})
	if !is {
		return fmt.Sprintf("ListenerSet %s is deleted", key)
	}
	gateway := string(set.Spec.ParentRef.Name)
	if gateway == "" || w.chance(20) {
		gateway = pick(w.Sim, gateways()...)
	}
	set.Spec.ParentRef = gatewayv1.ParentGatewayReference{Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)),
		Kind:      ptr.To(gatewayv1.Kind("Gateway")),
		Namespace: ptr.To(gatewayv1.Namespace(muxNamespace)), Name: gatewayv1.ObjectName(gateway)}
	set.Spec.Listeners = w.listeners()
	text := fmt.Sprintf("ListenerSet %s of %s has listeners", key, gateway)
	for _, l := range set.Spec.Listeners {
		text += fmt.Sprintf(" %s=%d/%s", l.Name, l.Port, l.Protocol)
	}
	return text + w.put(set, false)
}

// wipeStatus lets others replace the status of an object.
func (w *world) wipeStatus() string {
	kind := pick(w.Sim, api.Gateways, api.ListenerSets, api.TCPRoutes, api.GatewayClasses)
	keys := w.server.Keys(kind)
	if len(keys) == 0 {
		return ""
	}
	key := pick(w.Sim, keys...)
	object := w.server.Peek(kind, key).DeepCopyObject().(client.Object)
	switch o := object.(type) {
	case *gatewayv1.Gateway:
		o.Status = gatewayv1.GatewayStatus{}
	case *gatewayv1.ListenerSet:
		o.Status = gatewayv1.ListenerSetStatus{}
	case *gatewayv1.TCPRoute: // another controller says something of it
		o.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: o.Spec.ParentRefs[0],
			ControllerName: "example.com/other"}}
	case *gatewayv1.GatewayClass:
		o.Status = gatewayv1.GatewayClassStatus{}
	}
	return fmt.Sprintf("somebody wipes the status of %s %s%s", kind, key, w.put(object, true))
}

// mendGateways creates a missing GatewayClass. It gives our class to Gateways whose class doesn't exist: the reconciler
// decides nothing about those.
func (w *world) mendGateways() {
	if w.server.Peek(api.GatewayClasses, types.NamespacedName{Name: ourClass}) == nil {
		w.createClass()
	}
	for _, key := range w.server.Keys(api.Gateways) {
		gateway := w.server.Peek(api.Gateways, key).(*gatewayv1.Gateway).DeepCopy()
		if gateway.Spec.GatewayClassName == noClass {
			gateway.Spec.GatewayClassName = ourClass
			w.put(gateway, false)
		}
	}
}
