package snapshot

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/validation"
)

// The kinds of the Gateway API that a snapshot has.
const (
	gatewayClass   = "GatewayClass"
	gatewayKind    = "Gateway"
	listenerSet    = "ListenerSet"
	referenceGrant = "ReferenceGrant"
)

// objectKey names an object of any kind.
type objectKey struct {
	kind string
	types.NamespacedName
}

func keyOf(object archive.Object) objectKey {
	return objectKey{object.Kind(), types.NamespacedName{Namespace: object.Namespace(), Name: object.Name()}}
}

func routeOf(object archive.Object) (read.Route, bool) {
	switch object.Kind() {
	case read.TCPRoute:
		return read.RouteOf(as[gatewayv1.TCPRoute](object))
	case read.UDPRoute:
		return read.RouteOf(as[gatewayv1.UDPRoute](object))
	}
	return read.Route{}, false
}

// servedGateways returns the Gateways that are served here: those of our GatewayClasses, and those that have a mux.
func servedGateways(language validation.Language, objects []archive.Object) map[types.NamespacedName]bool {
	keys := language.Keys()
	ours, served := map[gatewayv1.ObjectName]bool{}, map[types.NamespacedName]bool{}
	for _, object := range objects {
		switch object.Kind() {
		case gatewayClass:
			ours[gatewayv1.ObjectName(
				object.Name())] = as[gatewayv1.GatewayClass](object).Spec.ControllerName == read.ControllerName(&keys)
		case "Service":
			if gateway, is := look.GatewayOfMux(keys, as[corev1.Service](object)); is {
				served[gateway] = true
			}
		}
	}
	for _, object := range objects {
		if object.Kind() == gatewayKind && ours[as[gatewayv1.Gateway](object).Spec.GatewayClassName] {
			served[keyOf(object).NamespacedName] = true
		}
	}
	return served
}

// chosen are the objects of the Gateway API that a snapshot keeps, and the namespaces whose labels decide about them.
type chosen map[objectKey]bool

// choose returns the Gateways that are served here or on which routes get numbers, their classes and ListenerSets, the
// routes that attach to them or ask for a number, and the ReferenceGrants for these routes.
func choose(language validation.Language, objects []archive.Object) chosen {
	c := chosen{}
	for gateway := range servedGateways(language, objects) {
		c[objectKey{gatewayKind, gateway}] = true
	}
	for _, object := range objects {
		if object.Kind() == gatewayKind && read.Asks(language, as[gatewayv1.Gateway](object)) {
			c[keyOf(object)] = true
		}
		if route, is := routeOf(object); is && route.AsksForNumber(language) {
			c[keyOf(object)] = true
			channel, _ := route.Channel(language)
			if gateway, is := read.GatewayOf(channel.Mux); is {
				c[objectKey{gatewayKind, gateway}] = true
			}
		}
	}
	c.addClasses(language, objects)
	c.addSets(objects)
	c.addRoutes(objects)
	c.addGrants(objects)
	return c
}

func (c chosen) addClasses(language validation.Language, objects []archive.Object) {
	keys := language.Keys()
	for _, object := range objects {
		switch object.Kind() {
		case gatewayClass:
			if as[gatewayv1.GatewayClass](object).Spec.ControllerName == read.ControllerName(&keys) {
				c[keyOf(object)] = true
			}
		case gatewayKind:
			if c[keyOf(object)] {
				c[objectKey{gatewayClass,
					types.NamespacedName{Name: string(as[gatewayv1.Gateway](object).Spec.GatewayClassName)}}] = true
			}
		}
	}
}

func (c chosen) addSets(objects []archive.Object) {
	for _, object := range objects {
		if object.Kind() == listenerSet && c[objectKey{gatewayKind, read.GatewayOfSet(as[gatewayv1.ListenerSet](object))}] {
			c[keyOf(object)] = true
			c.addNamespace(object)
		}
	}
}

func (c chosen) addRoutes(objects []archive.Object) {
	for _, object := range objects {
		route, is := routeOf(object)
		if !is {
			continue
		}
		for i := range route.Spec.ParentRefs {
			kind, parent := read.ParentOf(&route, &route.Spec.ParentRefs[i])
			if c[objectKey{kind, parent}] && (kind == gatewayKind || kind == listenerSet) {
				c[keyOf(object)] = true
			}
		}
		if c[keyOf(object)] {
			c.addNamespace(object)
		}
	}
}

func (c chosen) addNamespace(object archive.Object) {
	c[objectKey{"Namespace", types.NamespacedName{Name: object.Namespace()}}] = true
}

func (c chosen) addGrants(objects []archive.Object) {
	from := map[gatewayv1.ReferenceGrantFrom]bool{}
	for _, object := range objects {
		if _, is := routeOf(object); is && c[keyOf(object)] {
			from[gatewayv1.ReferenceGrantFrom{Group: gatewayv1.GroupName, Kind: gatewayv1.Kind(object.Kind()),
				Namespace: gatewayv1.Namespace(object.Namespace())}] = true
		}
	}
	for _, object := range objects {
		if object.Kind() == referenceGrant &&
			slices.ContainsFunc(as[gatewayv1.ReferenceGrant](object).Spec.From, func(f gatewayv1.ReferenceGrantFrom) bool {
				return from[f]
			}) {
			c[keyOf(object)] = true
		}
	}
}

// gatewayAPI keeps fields of an object of the Gateway API, without hostnames, certificates, and annotations and labels
// of others. It returns nil for an object that isn't chosen.
func (t *trimming) gatewayAPI(object archive.Object) archive.Object {
	if !t.chosen[keyOf(object)] {
		return nil
	}
	const meta, listeners = "metadata.", "spec.listeners."
	always := []string{meta + "uid", meta + "generation", meta + "creationTimestamp", meta + "deletionTimestamp",
		meta + "ownerReferences",
		meta + "annotations", meta + "labels"}
	ofListeners := []string{listeners + "name", listeners + "port", listeners + "protocol", listeners + "allowedRoutes",
		"status.conditions", "status.listeners"}
	more := map[string][]string{
		gatewayClass:   {"spec.controllerName", "spec.parametersRef", "status.conditions"},
		gatewayKind:    append(ofListeners, "spec.gatewayClassName", "spec.allowedListeners", "status.addresses"),
		listenerSet:    append(ofListeners, "spec.parentRef"),
		read.TCPRoute:  {"spec.parentRefs", "spec.rules.backendRefs", "status.parents"},
		read.UDPRoute:  {"spec.parentRefs", "spec.rules.backendRefs", "status.parents"},
		referenceGrant: {"spec.from", "spec.to"},
	}[object.Kind()]
	picked := pick(object, append(always, more...)...)
	fields, _ := picked["metadata"].(map[string]any)
	for _, name := range [...]string{"annotations", "labels"} {
		all, _ := fields[name].(map[string]any)
		for key := range all {
			if !strings.HasPrefix(key, t.world.Language.Prefix()+"/") {
				delete(all, key)
			}
		}
	}
	return picked
}

// namespace keeps the labels of a namespace that has ListenerSets or routes: Gateways select namespaces by labels.
func (t *trimming) namespace(object archive.Object) archive.Object {
	if !t.chosen[keyOf(object)] {
		return nil
	}
	return pick(object, "metadata.labels")
}
