package sim

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// describeGateways formats the status of an object of the Gateway API.
func describeGateways(obj any) (text string) {
	say := func(name string, conditions []metav1.Condition) {
		text += " " + name + ":"
		for _, c := range conditions {
			text += fmt.Sprintf(" %s=%s(%s %d %q)", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
		}
	}
	parents := func(status *gatewayv1.RouteStatus) {
		for i := range status.Parents {
			say(parentText(&status.Parents[i].ParentRef), status.Parents[i].Conditions)
		}
	}
	switch o := obj.(type) {
	case *gatewayv1.Gateway:
		say("itself", o.Status.Conditions)
		for i := range o.Status.Listeners {
			say(string(o.Status.Listeners[i].Name), o.Status.Listeners[i].Conditions)
		}
	case *gatewayv1.ListenerSet:
		say("itself", o.Status.Conditions)
		for i := range o.Status.Listeners {
			say(string(o.Status.Listeners[i].Name), o.Status.Listeners[i].Conditions)
		}
	case *gatewayv1.TCPRoute:
		parents(&o.Status.RouteStatus)
	case *gatewayv1.UDPRoute:
		parents(&o.Status.RouteStatus)
	}
	return text
}
