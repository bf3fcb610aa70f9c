package line

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// whose says whether this process serves a Gateway, and if not, why.
type whose uint8

const (
	gone      whose = iota // there is no such Gateway, or it is being deleted
	ours                   // its GatewayClass is ours
	unclear                // there is no such GatewayClass
	foreign                // its GatewayClass is another controller's
	elsewhere              // it is in a namespace that this process doesn't serve
)

// whose returns a Gateway, and whose it is. The Gateway is nil if it is gone or elsewhere.
func (l *serving) whose(ctx context.Context, from client.Reader, key types.NamespacedName) (*gatewayv1.Gateway, whose,
	error) {
	if !l.serves(key) {
		return nil, elsewhere, nil
	}
	return l.whoseByClass(ctx, from, key)
}

// whoseByClass is whose without regard to namespaces.
func (l *serving) whoseByClass(ctx context.Context, from client.Reader, key types.NamespacedName) (*gatewayv1.Gateway,
	whose, error) {
	gateway := &gatewayv1.Gateway{}
	err := from.Get(ctx, key, gateway)
	if apierrors.IsNotFound(err) || err == nil && gateway.DeletionTimestamp != nil {
		return nil, gone, nil
	}
	if err != nil {
		return nil, unclear, fmt.Errorf("gateway %s: %w", key, err)
	}
	class := &gatewayv1.GatewayClass{}
	err = l.cache.Get(ctx, types.NamespacedName{Name: string(gateway.Spec.GatewayClassName)}, class,
		client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return gateway, unclear, nil
	case err != nil:
		return nil, unclear, err
	case class.Spec.ControllerName != read.ControllerName(&l.keys):
		return gateway, foreign, nil
	}
	return gateway, ours, nil
}

// observe gathers what a decision about a Gateway needs. It returns nil for a Gateway that isn't ours.
func (l *serving) observe(ctx context.Context, from client.Reader, key types.NamespacedName) (*read.Observed, whose,
	error) {
	gateway, whose, err := l.whose(ctx, from, key)
	if err != nil || whose != ours {
		return nil, whose, err
	}
	o := &read.Observed{Gateway: gateway, Mux: read.MuxOf(key), Namespaces: map[string]labels.Set{},
		Services: map[types.NamespacedName]*corev1.Service{}}
	if o.OnGateways, err = l.onGateways(ctx, o.Mux, string(gateway.Spec.GatewayClassName)); err != nil {
		return nil, unclear, err
	}
	if err := l.observeNamespaces(ctx, o); err != nil {
		return nil, unclear, err
	}
	if err := l.observeSets(ctx, o); err != nil {
		return nil, unclear, err
	}
	if err := l.observeRoutes(ctx, o); err != nil {
		return nil, unclear, err
	}
	return o, ours, l.observeBackends(ctx, o)
}

// onGateways is true if a Gateway's mux is on a pool of gateways, or will be.
func (l *serving) onGateways(ctx context.Context, mux types.NamespacedName, class string) (bool, error) {
	var svc corev1.Service
	err := l.cache.Get(ctx, mux, &svc, client.UnsafeDisableDeepCopy)
	spec := &svc.Spec
	if apierrors.IsNotFound(err) {
		if template := l.templateOf(class); template != nil {
			spec, err = &template.Spec, nil
		}
	}
	_, is := l.Language.GatewayPool(ptr.Deref(spec.LoadBalancerClass, ""))
	return is, client.IgnoreNotFound(err)
}

func (l *serving) observeNamespaces(ctx context.Context, o *read.Observed) error {
	var list corev1.NamespaceList
	if err := l.cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range list.Items {
		o.Namespaces[list.Items[i].Name] = list.Items[i].Labels
	}
	return nil
}

// observeSets reads the ListenerSets that name the Gateway.
func (l *serving) observeSets(ctx context.Context, o *read.Observed) error {
	if !l.kinds.Has("ListenerSet") {
		return nil
	}
	var list gatewayv1.ListenerSetList
	if err := l.cache.List(ctx, &list,
		client.MatchingFields{indexGateway: client.ObjectKeyFromObject(o.Gateway).String()}); err != nil {
		return err
	}
	addSets(o, list.Items)
	return nil
}

func addSets(o *read.Observed, list []gatewayv1.ListenerSet) {
	for i := range list {
		if set := &list[i]; set.DeletionTimestamp == nil && read.GatewayOfSet(set) == client.ObjectKeyFromObject(o.Gateway) {
			o.Sets = append(o.Sets, set)
		}
	}
}

// renewSets replaces the ListenerSets of a namespace by those that the API server has.
func (l *serving) renewSets(ctx context.Context, o *read.Observed, namespace string) error {
	if !l.kinds.Has("ListenerSet") {
		return nil
	}
	var list gatewayv1.ListenerSetList
	if err := l.live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	o.Sets = slices.DeleteFunc(o.Sets, func(set *gatewayv1.ListenerSet) bool { return set.Namespace == namespace })
	addSets(o, list.Items)
	return nil
}

// observeRoutes reads the routes that name the Gateway or one of its ListenerSets, in a parentRef or in an entry of
// ours in the status.
func (l *serving) observeRoutes(ctx context.Context, o *read.Observed) error {
	parents := []string{parentKey("Gateway", client.ObjectKeyFromObject(o.Gateway))}
	for _, set := range o.Sets {
		parents = append(parents, parentKey("ListenerSet", client.ObjectKeyFromObject(set)))
	}
	seen := map[types.UID]bool{}
	for _, parent := range parents {
		err := l.kinds.EachRoute(ctx, l.cache, func(route *read.Route) {
			if uid := route.Object.GetUID(); !seen[uid] && route.Object.GetDeletionTimestamp() == nil {
				seen[uid] = true
				o.Routes = append(o.Routes, *route)
			}
		}, client.MatchingFields{indexParent: parent})
		if err != nil {
			return err
		}
	}
	return nil
}

// observeBackends reads the Services that routes send packets to, and the ReferenceGrants of other namespaces.
func (l *serving) observeBackends(ctx context.Context, o *read.Observed) error {
	namespaces := map[string]bool{}
	for i := range o.Routes {
		for _, key := range o.Routes[i].Services() {
			if key.Namespace != o.Routes[i].Object.GetNamespace() {
				namespaces[key.Namespace] = true
			}
			if o.Services[key] != nil {
				continue
			}
			svc := &corev1.Service{}
			err := l.cache.Get(ctx, key, svc, client.UnsafeDisableDeepCopy)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			o.Services[key] = svc
		}
	}
	if !l.kinds.Has("ReferenceGrant") {
		return nil
	}
	for namespace := range namespaces {
		var list gatewayv1.ReferenceGrantList
		if err := l.cache.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for i := range list.Items {
			o.Grants = append(o.Grants, &list.Items[i])
		}
	}
	return nil
}

// readLive returns a listener as the API server has it; nil if it asks for no number. It reads the Gateway and the
// listener's ListenerSets from the API server, and the rest from the cache.
func (l *serving) readLive(ctx context.Context, gateway, listener types.NamespacedName) (*plan.ObservedChannel, error) {
	o, whose, err := l.observe(ctx, l.live, gateway)
	switch {
	case err != nil:
		return nil, err
	case whose == gone || whose == foreign:
		return nil, nil
	case o == nil:
		return nil, errUnknown
	}
	if err := l.renewSets(ctx, o, listener.Namespace); err != nil {
		return nil, err
	}
	claimants := read.Judge(o).Claimants()
	for i := range claimants {
		if claimants[i].Key == listener {
			return &claimants[i], nil
		}
	}
	return nil, nil
}
