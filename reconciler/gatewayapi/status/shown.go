package status

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
)

// Shown returns the listeners of a Gateway and of its ListenerSets, with the conditions that they get.
func (g *Given) Shown(controller gatewayv1.GatewayController) []claimants.Listener {
	return listeners(g.Served, func(l *read.Listener) []metav1.Condition {
		conditions, _ := g.listener(l)
		return conditions
	}, func(a *read.Attachment) []metav1.Condition {
		return conditionsOf(g.Parents(controller, a.Route), controller, a.Ref)
	})
}

// Written returns the listeners of a Gateway and of its ListenerSets, with the conditions that they have.
func Written(s *read.Served, controller gatewayv1.GatewayController) []claimants.Listener {
	g := &Given{Served: s}
	return listeners(s, func(l *read.Listener) []metav1.Condition {
		conditions, _ := g.said(l)
		return conditions
	}, func(a *read.Attachment) []metav1.Condition {
		return conditionsOf(a.Route.Status.Parents, controller, a.Ref)
	})
}

func conditionsOf(parents []gatewayv1.RouteParentStatus, controller gatewayv1.GatewayController,
	ref *gatewayv1.ParentReference) []metav1.Condition {
	for i := range parents {
		if p := &parents[i]; p.ControllerName == controller && equality.Semantic.DeepEqual(&p.ParentRef, ref) {
			return p.Conditions
		}
	}
	return nil
}

// listeners returns the listeners in the order of precedence, and then those of ListenerSets that the Gateway doesn't
// admit. The latter get the conditions of their ListenerSet, since its status has none of listeners.
func listeners(s *read.Served, ofListener func(*read.Listener) []metav1.Condition,
	ofRoute func(*read.Attachment) []metav1.Condition) []claimants.Listener {
	routes := make([][]claimants.Route, len(s.Listeners))
	for i := range s.Attachments {
		a := &s.Attachments[i]
		for _, at := range selected(s, a) {
			routes[at] = append(routes[at],
				claimants.Route{Kind: a.Route.Kind, Key: keyOf(a.Route.Object), Conditions: ofRoute(a),
					Carried: a.Refused == nil && s.Listeners[at].Carried == a.Route})
		}
	}
	var all []claimants.Listener
	for i := range s.Listeners {
		shown := listenerOf(s, &s.Listeners[i])
		shown.Conditions, shown.Routes = ofListener(&s.Listeners[i]), routes[i]
		all = append(all, shown)
	}
	refused := s.NotAdmittedListeners()
	for i := range refused {
		shown := listenerOf(s, &refused[i])
		shown.Conditions = refused[i].Set.Status.Conditions
		all = append(all, shown)
	}
	return all
}

// selected returns the listeners to which a route attaches; if the route is refused, those that its parentRef selects.
func selected(s *read.Served, a *read.Attachment) []int {
	if a.Refused == nil {
		return a.Listeners
	}
	return s.Selected(a.Route, a.Ref)
}

func listenerOf(s *read.Served, l *read.Listener) claimants.Listener {
	shown := claimants.Listener{Key: l.Key, Gateway: keyOf(s.Gateway), Name: string(l.Name), Number: l.Port,
		Protocol: l.Slot().Protocol}
	if l.Set != nil {
		shown.ListenerSet = keyOf(l.Set)
	}
	return shown
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
