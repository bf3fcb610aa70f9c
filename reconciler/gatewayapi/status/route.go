package status

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// Parents returns a status for each parentRef of a route that leads to this Gateway.
func (g *Given) Parents(controller gatewayv1.GatewayController, route *read.Route) []gatewayv1.RouteParentStatus {
	var all []gatewayv1.RouteParentStatus
	for _, i := range g.AttachmentsOf(route) {
		a := &g.Attachments[i]
		c := g.conditions(conditionsOf(route.Status.Parents, controller, a.Ref), route.Object.GetGeneration())
		if a.Refused != nil {
			c.set(accepted, false, a.Refused.Reason, a.Refused.Message)
		} else {
			c.set(accepted, true, accepted, g.carries(a))
		}
		if a.Unresolved != nil {
			c.set(resolved, false, a.Unresolved.Reason, a.Unresolved.Message)
		} else {
			c.set(resolved, true, resolved, "")
		}
		all = append(all, gatewayv1.RouteParentStatus{ParentRef: *a.Ref, ControllerName: controller, Conditions: c.all})
	}
	return all
}

// carries says which listeners carry an older route, if any do.
func (g *Given) carries(a *read.Attachment) string {
	for _, at := range a.Listeners {
		if l := &g.Listeners[at]; l.Carried != nil && l.Carried != a.Route {
			return fmt.Sprintf("listener %s carries %s %s/%s, which is older", l.Name, l.Carried.Kind,
				l.Carried.Object.GetNamespace(), l.Carried.Object.GetName())
		}
	}
	return ""
}
