package look

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/kube"
	gatewayread "nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/status"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/sight"
	"nowake.ai/svc-lb-mux/validation"
)

// readListeners reads the listeners of muxes that are made for Gateways. Without such a mux it reads nothing.
func (r *reading) readListeners(ctx context.Context) error {
	r.Listeners, r.Unread.Listeners = map[types.NamespacedName]sight.Claimants{}, ""
	gateways := map[types.NamespacedName]types.NamespacedName{} // by mux
	for key, svc := range r.Services {
		if gateway, is := GatewayOfMux(r.Language.Keys(), svc); is {
			gateways[key] = gateway
		}
	}
	if len(gateways) == 0 {
		return nil
	}
	api, err := r.readGatewayAPI(ctx)
	for _, mux := range slices.SortedFunc(maps.Keys(gateways), plan.CompareKeys) {
		key := gateways[mux]
		gateway, found := &gatewayv1.Gateway{}, false
		if err == nil {
			found, err = r.cluster.JSON(ctx, group+"namespaces/"+key.Namespace+"/gateways/"+key.Name, gateway)
		}
		if found && err == nil {
			r.PutListeners(r.Services[mux], gateway, api)
		}
	}
	if kube.IsForbidden(err) {
		r.Listeners, r.Unread.Listeners = nil, Unavailable("the listeners of Gateways", err)
		return nil
	}
	return err
}

// GatewayAPI are the objects of the Gateway API that don't belong to one Gateway.
type GatewayAPI struct {
	Sets       []*gatewayv1.ListenerSet
	Routes     []gatewayread.Route
	Namespaces map[string]labels.Set
}

// group is the path of the Gateway API.
const group = "/apis/gateway.networking.k8s.io/v1/"

func (r *reading) readGatewayAPI(ctx context.Context) (*GatewayAPI, error) {
	api := &GatewayAPI{Namespaces: map[string]labels.Set{}}
	_, sets := kube.JSONPages(ctx, r.cluster, group+"listenersets", func(items []gatewayv1.ListenerSet) {
		for i := range items {
			if items[i].DeletionTimestamp == nil {
				api.Sets = append(api.Sets, &items[i])
			}
		}
	})
	_, tcp := kube.JSONPages(ctx, r.cluster, group+"tcproutes", func(items []gatewayv1.TCPRoute) {
		for i := range items {
			api.Add(&items[i])
		}
	})
	_, udp := kube.JSONPages(ctx, r.cluster, group+"udproutes", func(items []gatewayv1.UDPRoute) {
		for i := range items {
			api.Add(&items[i])
		}
	})
	_, namespaces := kube.JSONPages(ctx, r.cluster, "/api/v1/namespaces", func(items []metav1.PartialObjectMetadata) {
		for i := range items {
			api.Namespaces[items[i].Name] = items[i].Labels
		}
	})
	// one error alone: joined errors count as a refusal if one of them is
	for _, err := range [...]error{sets, tcp, udp, namespaces} {
		if err != nil {
			return nil, err
		}
	}
	return api, nil
}

// Add adds a route.
func (api *GatewayAPI) Add(object gatewayread.Object) {
	if route, is := gatewayread.RouteOf(object); is && object.GetDeletionTimestamp() == nil {
		api.Routes = append(api.Routes, route)
	}
}

// PutListeners adds the listeners of a mux's Gateway, judged as the reconciler judges them. The statuses of Gateway and
// ListenerSets say whether the listeners have their numbers.
func (w *World) PutListeners(mux *corev1.Service, gateway *gatewayv1.Gateway, api *GatewayAPI) {
	keys, key := w.Language.Keys(), types.NamespacedName{Namespace: gateway.Namespace, Name: gateway.Name}
	_, onGateways := w.Language.GatewayPool(ptr.Deref(mux.Spec.LoadBalancerClass, ""))
	observed := &gatewayread.Observed{Gateway: gateway,
		Mux: types.NamespacedName{Namespace: mux.Namespace, Name: mux.Name}, OnGateways: onGateways,
		Namespaces: api.Namespaces, Routes: slices.Clone(api.Routes)}
	for _, set := range api.Sets {
		if gatewayread.GatewayOfSet(set) == key {
			observed.Sets = append(observed.Sets, set)
		}
	}
	served := gatewayread.Judge(observed)
	all := sight.Claimants{Asking: served.Claimants(),
		Listeners: status.Written(served, gatewayread.ControllerName(&keys))}
	written := map[types.NamespacedName][]metav1.Condition{}
	for i := range all.Listeners {
		written[all.Listeners[i].Key] = all.Listeners[i].Conditions
	}
	for i := range all.Asking {
		all.Asking[i].Conditions = numberSaid(&keys, written[all.Asking[i].Key])
	}
	if w.Listeners == nil {
		w.Listeners = map[types.NamespacedName]sight.Claimants{}
	}
	w.Listeners[observed.Mux] = all
}

// numberSaid translates a listener's conditions about its number into the conditions of a channel.
func numberSaid(keys *validation.Keys, written []metav1.Condition) (said []metav1.Condition) {
	accepted := meta.FindStatusCondition(written, string(gatewayv1.ListenerConditionAccepted))
	if accepted != nil &&
		(accepted.Status == metav1.ConditionTrue || accepted.Reason == string(gatewayv1.ListenerReasonPortUnavailable)) {
		c := *accepted
		if c.Type = keys.Accepted; c.Status == metav1.ConditionTrue {
			c.Reason = string(plan.Accepted)
		}
		said = append(said, c)
	}
	if programmed := meta.FindStatusCondition(written, string(gatewayv1.ListenerConditionProgrammed)); programmed != nil {
		c := *programmed
		c.Type = keys.Programmed
		said = append(said, c)
	}
	return said
}

// GatewayOfMux returns the Gateway that a mux is made for; false for another Service.
func GatewayOfMux(keys validation.Keys, svc *corev1.Service) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOf(svc)
	if owner == nil || owner.Kind != "Gateway" || svc.Labels[keys.Managed] != "true" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: svc.Namespace, Name: owner.Name}, true
}

// Claimants returns the listeners of the mux's Gateway.
func (s *source) Claimants(mux *corev1.Service) (sight.Claimants, error) {
	if _, is := GatewayOfMux(s.Language.Keys(), mux); !is {
		return sight.Claimants{}, nil
	}
	return s.Listeners[s.mux], unreadable(s.World.Unread.Listeners)
}
