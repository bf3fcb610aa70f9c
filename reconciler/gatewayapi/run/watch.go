package run

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/controllers"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
)

// Wakes starts passes over the objects that a change concerns, before and after the change. Each pass waits for more
// changes first, for the time quiet.
func Wakes(quiet time.Duration, of func(context.Context, client.Object) []types.NamespacedName) handler.EventHandler {
	return controllers.OnChange(func(ctx context.Context, q controllers.Queue, old, now client.Object) {
		for _, object := range controllers.Differing(old, now) {
			for _, key := range of(ctx, object) {
				q.AddAfter(reconcile.Request{NamespacedName: key}, quiet)
			}
		}
	})
}

// Routes are the kinds of routes that the API server serves.
func (k Kinds) Routes() (objects []client.Object) {
	if k.Has(read.TCPRoute) {
		objects = append(objects, &gatewayv1.TCPRoute{})
	}
	if k.Has(read.UDPRoute) {
		objects = append(objects, &gatewayv1.UDPRoute{})
	}
	return objects
}

// EachRoute calls do with each route in a cache. The routes belong to the cache: never change them.
func (k Kinds) EachRoute(ctx context.Context, cache client.Reader, do func(*read.Route),
	options ...client.ListOption) error {
	var tcp gatewayv1.TCPRouteList
	var udp gatewayv1.UDPRouteList
	options = append(options[:len(options):len(options)], client.UnsafeDisableDeepCopy)
	if k.Has(read.TCPRoute) {
		if err := cache.List(ctx, &tcp, options...); err != nil {
			return err
		}
	}
	if k.Has(read.UDPRoute) {
		if err := cache.List(ctx, &udp, options...); err != nil {
			return err
		}
	}
	for i := range tcp.Items {
		route, _ := read.RouteOf(&tcp.Items[i])
		do(&route)
	}
	for i := range udp.Items {
		route, _ := read.RouteOf(&udp.Items[i])
		do(&route)
	}
	return nil
}
