package api

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The Gateway API's kinds are custom resources. The defaults and rules of their definitions aren't applied: users of
// this package write complete and valid objects.

// kindOfGateways returns the kind of an object of the Gateway API, or an empty kind.
func kindOfGateways(obj any) Kind {
	switch obj.(type) {
	case *gatewayv1.GatewayClass, *gatewayv1.GatewayClassList:
		return GatewayClasses
	case *gatewayv1.Gateway, *gatewayv1.GatewayList:
		return Gateways
	case *gatewayv1.ListenerSet, *gatewayv1.ListenerSetList:
		return ListenerSets
	case *gatewayv1.TCPRoute, *gatewayv1.TCPRouteList:
		return TCPRoutes
	case *gatewayv1.UDPRoute, *gatewayv1.UDPRouteList:
		return UDPRoutes
	case *gatewayv1.ReferenceGrant, *gatewayv1.ReferenceGrantList:
		return ReferenceGrants
	}
	return ""
}

func (k Kind) isCustom() bool {
	switch k {
	case GatewayClasses, Gateways, ListenerSets, TCPRoutes, UDPRoutes, ReferenceGrants:
		return true
	}
	return false
}

func (k Kind) isNamespaced() bool { return k != Namespaces && k != GatewayClasses }

// prepareCreateCustom begins to count generations. A new object has no status.
func prepareCreateCustom(obj client.Object) {
	if !KindOf(obj).isCustom() {
		return
	}
	obj.SetGeneration(1)
	if status := part(obj, "Status"); status.IsValid() {
		status.SetZero()
	}
}

// prepareUpdateCustom restores what a request can't change. The status subresource changes the status alone: not even
// metadata. A changed spec is a new generation.
func prepareUpdateCustom(before, after client.Object, status bool) {
	if !KindOf(after).isCustom() {
		return
	}
	was := deepCopy(before)
	if status {
		part(was, "Status").Set(part(after, "Status"))
		into(after, was)
		return
	}
	if now := part(after, "Status"); now.IsValid() {
		now.Set(part(was, "Status"))
	}
	if !equality.Semantic.DeepEqual(part(was, "Spec").Interface(), part(after, "Spec").Interface()) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
}

func part(obj client.Object, name string) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(name)
}
