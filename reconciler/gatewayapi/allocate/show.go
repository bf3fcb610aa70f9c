package allocate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// show writes statuses and number annotations of routes, and sends their Events.
func (o *pass) show(ctx context.Context, patches []plan.ChannelPatch) error {
	return run.InParallel(o.WritesAtOnce, patches, func(patch plan.ChannelPatch) error {
		route := o.routes[patch.Channel]
		if route == nil {
			return nil
		}
		if err := o.setStatus(ctx, &route.Route, o.parents(route, &patch)); err != nil {
			return err
		}
		if patch.SetNote {
			if err := o.setNumber(ctx, &route.Route, numberOf(patch.PortsNote)); err != nil {
				return err
			}
		}
		for _, event := range patch.Events {
			o.tell(event)
		}
		return nil
	})
}

// parents returns status.parents of a route: the entries of other controllers as they are, and ours with the conditions
// of the patch. Ours keeps its place: otherwise two controllers would put theirs last in turns without end.
func (o *pass) parents(route *asking, patch *plan.ChannelPatch) []gatewayv1.RouteParentStatus {
	var conditions []metav1.Condition
	if said := route.Said(&o.keys); said != nil {
		conditions = slices.Clone(said.Conditions)
	}
	conditions = slices.DeleteFunc(conditions, func(c metav1.Condition) bool {
		return slices.Contains(patch.Drop, c.Type) ||
			slices.ContainsFunc(patch.Conditions, func(now metav1.Condition) bool { return now.Type == c.Type })
	})
	for _, condition := range patch.Conditions {
		condition.ObservedGeneration = route.Object.GetGeneration()
		conditions = append(conditions, condition)
	}
	slices.SortFunc(conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	all := route.Status.Parents
	if len(conditions) == 0 {
		return withoutOurs(&o.keys, all)
	}
	at := slices.IndexFunc(all, func(p gatewayv1.RouteParentStatus) bool {
		return p.ControllerName == read.Controller(&o.keys)
	})
	if at < 0 {
		at = len(all)
	}
	ours := gatewayv1.RouteParentStatus{ParentRef: parentOf(route), ControllerName: read.Controller(&o.keys),
		Conditions: conditions}
	return slices.Concat(all[:at], []gatewayv1.RouteParentStatus{ours}, withoutOurs(&o.keys, all[at:]))
}

// withoutOurs returns those entries of a route's status that other controllers wrote.
func withoutOurs(keys *validation.Keys, all []gatewayv1.RouteParentStatus) []gatewayv1.RouteParentStatus {
	return slices.DeleteFunc(slices.Clone(all), func(p gatewayv1.RouteParentStatus) bool {
		return p.ControllerName == read.Controller(keys)
	})
}

// parentOf returns the parent that our part of the status is about: the ListenerSet, or without one the Gateway.
func parentOf(route *asking) gatewayv1.ParentReference {
	ref := gatewayv1.ParentReference{Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)),
		Kind: ptr.To(gatewayv1.Kind("ListenerSet")),
		Name: gatewayv1.ObjectName(route.asks.ListenerSet)}
	if route.asks.ListenerSet == "" {
		ref.Kind, ref.Name = ptr.To(gatewayv1.Kind("Gateway")), gatewayv1.ObjectName(cmp.Or(route.asks.Gateway.Name, "none"))
		if route.asks.Gateway.Namespace != "" {
			ref.Namespace = ptr.To(gatewayv1.Namespace(route.asks.Gateway.Namespace))
		}
	}
	return ref
}

// setStatus writes the list of a route's parents if it differs. Package plan also asks for patches that change no
// status: a mux has an address, and a route has no field for it. Other controllers write the list, too: the write
// conflicts if the route changed since it was read.
func (l *line) setStatus(ctx context.Context, route *read.Route, parents []gatewayv1.RouteParentStatus) error {
	if equality.Semantic.DeepEqual(parents, route.Status.Parents) {
		return nil
	}
	if parents == nil {
		parents = []gatewayv1.RouteParentStatus{}
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": route.Object.GetUID(), "resourceVersion": route.Object.GetResourceVersion()},
		"status":   map[string]any{"parents": parents},
	})
	if err != nil {
		return err
	}
	object := read.NewRoute(route.Kind)
	object.SetNamespace(route.Object.GetNamespace())
	object.SetName(route.Object.GetName())
	return client.IgnoreNotFound(l.write.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, body)))
}

// setNumber writes the annotation with the route's number. For an empty number, it removes the annotation.
func (l *line) setNumber(ctx context.Context, route *read.Route, number string) error {
	var value any
	if number != "" {
		value = number
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": route.Object.GetUID(), "annotations": map[string]any{l.keys.Ports: value}},
	})
	if err != nil {
		return err
	}
	object := read.NewRoute(route.Kind)
	object.SetNamespace(route.Object.GetNamespace())
	object.SetName(route.Object.GetName())
	return client.IgnoreNotFound(l.write.Patch(ctx, object, client.RawPatch(types.MergePatchType, body)))
}

// numberOf returns the number in a channel's ports annotation.
func numberOf(note string) string {
	ports, _ := validation.ParsePorts(note)
	if len(ports) == 0 {
		return ""
	}
	return strconv.Itoa(int(ports[0].Public))
}

// tellStanding sends an Event about each lasting problem of the Gateway, once.
func (o *pass) tellStanding(p *plan.Plan) {
	now := map[string]bool{}
	for _, event := range p.Standing {
		key := string(event.Reason) + event.Message
		if now[key] = true; !o.memory.standing[key] {
			o.tell(event)
		}
	}
	o.memory.standing = now
}

// about returns the object of an Event; nil if it is gone.
func (o *pass) about(key types.NamespacedName) runtime.Object {
	if key == o.world.Key && o.gateway != nil {
		return &corev1.ObjectReference{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway",
			Namespace: o.gateway.Namespace, Name: o.gateway.Name,
			UID: o.gateway.UID}
	}
	if route := o.routes[key]; route != nil {
		return &corev1.ObjectReference{APIVersion: gatewayv1.GroupVersion.String(), Kind: route.Kind,
			Namespace: route.Object.GetNamespace(),
			Name:      route.Object.GetName(), UID: route.Object.GetUID()}
	}
	return nil
}
