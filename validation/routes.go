package validation

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Reasons of problems of routes.
const (
	// InvalidGateway is a gateway annotation on a route that isn't namespace/name.
	InvalidGateway Reason = "InvalidGateway"
	// NoListenerSet is a route that asks for a number, and whose parentRefs name no ListenerSet.
	NoListenerSet Reason = "NoListenerSet"
)

// Route is what a TCPRoute or UDPRoute of the Gateway API asks for. If it has problems, only Object and Recorded are
// reliable.
type Route struct {
	Object
	// Gateway is the Gateway on which the route asks for a number.
	Gateway types.NamespacedName
	// Request is for a number or auto. A route asks for one number.
	Request Request
	// ListenerSet is the name of the ListenerSet that gets the number, in the route's namespace.
	ListenerSet string
	// Disabled withdraws the route; its number is held.
	Disabled bool
	// Recorded is the number in the route's ports annotation; 0 without one.
	Recorded int32
}

// AsksForNumber is true for an object of the Gateway API that asks for a number on a Gateway.
func (l Language) AsksForNumber(meta *metav1.ObjectMeta) bool {
	_, asks := meta.Annotations[l.keys.Gateway]
	return asks
}

// ParseRoute parses a route that asks for a number. listenerSets are the ListenerSets of the route's own namespace that
// its parentRefs name; the first one counts. Without external-ports, a route asks for auto.
func (l Language) ParseRoute(meta *metav1.ObjectMeta, listenerSets []string) (Route, Findings) {
	var found Findings
	route := Route{Object: objectOf(meta), Request: Request{Kind: Auto}}
	annotation := func(key string, reason Reason) (*note, bool) {
		value, set := meta.Annotations[key]
		return &note{to: &found, reason: reason, key: key, name: shortName(key), value: trim(value)}, set
	}
	n, _ := annotation(l.keys.Gateway, InvalidGateway)
	if namespace, name, _ := cut(n.value, "/"); IsLabel(namespace) && isDNSName(name) && len(name) <= maxLabel {
		route.Gateway = types.NamespacedName{Namespace: namespace, Name: name}
	} else {
		n.problem("", n.value, textGateway(n.value))
	}
	if n, set := annotation(l.keys.ExternalPorts, InvalidPortMapping); set {
		if number, is := portNumber(n.value); is {
			route.Request = Request{Kind: Number, Number: number}
		} else if !strings.EqualFold(n.value, auto) {
			route.Request = Request{}
			n.problem("", n.value, textRoutePort(n.value))
		}
	}
	if n, set := annotation(l.keys.Disabled, InvalidDisabled); set {
		if route.Disabled = n.value == "true"; !route.Disabled && n.value != "false" {
			n.problem("", n.value, textTrueOrFalse(n.value))
		}
	}
	if len(listenerSets) > 0 {
		route.ListenerSet = listenerSets[0]
	} else {
		found.problem(NoListenerSet, "spec.parentRefs", "", "", textNoListenerSet())
	}
	route.Recorded, _ = portNumber(meta.Annotations[l.keys.Ports])
	found.sort()
	return route, found
}
