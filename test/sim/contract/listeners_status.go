package contract

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// checkRouting compares the statuses of Gateways, ListenerSets and routes with their muxes.
func (w *World) checkRouting(served map[types.NamespacedName]*mux) string {
	listeners := w.Listeners()
	for _, key := range keysOf(listeners) {
		l := listeners[key]
		m := served[l.Mux]
		if m == nil {
			continue
		}
		conditions, attached := l.status()
		programmed := l.Asks && len(m.lacking(m.channels[key])) == 0 && len(m.service.Status.LoadBalancer.Ingress) > 0
		switch is := meta.FindStatusCondition(conditions, "Programmed"); {
		case is == nil || is.ObservedGeneration != l.Owner.GetGeneration():
			return fmt.Sprintf("statuses: nothing is said about the present generation of listener %s", key)
		case (is.Status == metav1.ConditionTrue) != programmed:
			return fmt.Sprintf("statuses: Programmed is %q (%s) for listener %s, and it has its number on a mux with an "+
				"address: %t", is.Status, is.Message, key, programmed)
		case int(attached) != len(w.attached(l)):
			return fmt.Sprintf("statuses: listener %s has %d routes, and its status says %d", key, len(w.attached(l)), attached)
		}
	}
	for _, of := range w.routes() {
		if wrong := w.checkRoute(&of, listeners, served); wrong != "" {
			return fmt.Sprintf("statuses: %s %s/%s: %s", of.kind, of.object.GetNamespace(), of.object.GetName(), wrong)
		}
	}
	return ""
}

// status returns what the owner's status says of a listener.
func (l *Listener) status() ([]metav1.Condition, int32) {
	switch o := l.Owner.(type) {
	case *gatewayv1.Gateway:
		for i := range o.Status.Listeners {
			if s := &o.Status.Listeners[i]; s.Name == l.Name {
				return s.Conditions, s.AttachedRoutes
			}
		}
	case *gatewayv1.ListenerSet:
		for i := range o.Status.Listeners {
			if s := &o.Status.Listeners[i]; s.Name == l.Name {
				return s.Conditions, s.AttachedRoutes
			}
		}
	}
	return nil, 0
}

// Programmed returns whether the status of its owner says that the present listener is programmed.
func (l *Listener) Programmed() bool {
	conditions, _ := l.status()
	is := meta.FindStatusCondition(conditions, "Programmed")
	return is != nil && is.Status == metav1.ConditionTrue && is.ObservedGeneration == l.Owner.GetGeneration()
}

// Refused returns whether the status of its owner says that another claimant has the listener's number.
func (l *Listener) Refused() bool {
	conditions, _ := l.status()
	is := meta.FindStatusCondition(conditions, "Accepted")
	return is != nil && is.Reason == "PortUnavailable"
}

// checkRoute compares a route's status with the parents that are ours.
func (w *World) checkRoute(of *route, listeners map[types.NamespacedName]*Listener,
	served map[types.NamespacedName]*mux) string {
	found := slices.DeleteFunc(slices.Clone(of.status.Parents), func(p gatewayv1.RouteParentStatus) bool {
		return string(p.ControllerName) != w.Prefix+"/gateway"
	})
	for i := range of.parents {
		ref := &of.parents[i]
		mux, is := w.muxOfParent(ref)
		if !is || served[mux] == nil {
			continue
		}
		at := slices.IndexFunc(found, func(p gatewayv1.RouteParentStatus) bool {
			return equality.Semantic.DeepEqual(&p.ParentRef, ref)
		})
		if at < 0 {
			return fmt.Sprintf("nothing is said about parent %s %s", *ref.Kind, ref.Name)
		}
		accepted, resolved := false, true
		for _, l := range listeners {
			accepted = accepted || l.Mux == mux && l.attaches(of, ref)
		}
		for j := range of.backends {
			_, _, is := w.portOf(of, &of.backends[j])
			resolved = resolved && is
		}
		if says := meta.IsStatusConditionTrue(found[at].Conditions, "Accepted"); says != accepted {
			return fmt.Sprintf("Accepted is %t for parent %s %s, and a listener takes it: %t", says, *ref.Kind, ref.Name,
				accepted)
		}
		if says := meta.IsStatusConditionTrue(found[at].Conditions, "ResolvedRefs"); says != resolved {
			return fmt.Sprintf("ResolvedRefs is %t, and all backends are there: %t", says, resolved)
		}
		found = slices.Delete(found, at, at+1)
	}
	if len(found) > 0 {
		return fmt.Sprintf("its status is about %s %s, which isn't a parent that we serve", *found[0].ParentRef.Kind,
			found[0].ParentRef.Name)
	}
	return ""
}

// muxOfParent returns the mux of the Gateway that a parentRef leads to; false if we don't serve it.
func (w *World) muxOfParent(ref *gatewayv1.ParentReference) (types.NamespacedName, bool) {
	key := types.NamespacedName{Namespace: string(*ref.Namespace), Name: string(ref.Name)}
	if *ref.Kind == "ListenerSet" {
		set := w.Sets[key]
		if set == nil {
			return key, false
		}
		key = types.NamespacedName{Namespace: string(*set.Spec.ParentRef.Namespace), Name: string(set.Spec.ParentRef.Name)}
	}
	gateway := w.Gateways[key]
	return types.NamespacedName{Namespace: key.Namespace, Name: "gateway-" + key.Name}, gateway != nil && w.isOurs(gateway)
}
