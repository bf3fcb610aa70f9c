package allocate

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/controllers"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
	"nowake.ai/svc-lb-mux/reconciler/ledger"
	"nowake.ai/svc-lb-mux/validation"
)

// Indexes find routes and ListenerSets by their Gateway, and routes by the ListenerSet that they ask for.
const (
	indexGateway = "gateway"
	indexSet     = "listenerset"
)

// quiet is how long a pass waits for more changes, and for the cache to show its own writes.
const quiet = 50 * time.Millisecond

// setup adds the controllers to a manager.
func (l *line) setup(ctx context.Context, m manager.Manager) error {
	if err := l.index(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	var gateways, strays []source.Source
	watched := append(l.kinds.Routes(), &gatewayv1.Gateway{}, ledger.Object(), &corev1.Namespace{})
	if l.kinds.Has("ListenerSet") {
		watched = append(watched, &gatewayv1.ListenerSet{})
	}
	for _, object := range watched {
		gateways = append(gateways, source.Kind(m.GetCache(), object, run.Wakes(quiet, l.gatewaysOf)))
	}
	for _, object := range l.kinds.Routes() {
		strays = append(strays, source.Kind(m.GetCache(), object, run.Wakes(quiet, l.strayOf)))
	}
	return errors.Join(
		controllers.Add(m, "gateway", controller.Options{Reconciler: l, MaxConcurrentReconciles: atOnce}, gateways...),
		controllers.Add(m, "route", controller.Options{Reconciler: reconcile.Func(l.reconcileStray)}, strays...))
}

// index adds the indexes.
func (l *line) index(ctx context.Context, indexer client.FieldIndexer) error {
	if l.kinds.Has("ListenerSet") {
		if err := indexer.IndexField(ctx, &gatewayv1.ListenerSet{}, indexGateway, func(object client.Object) []string {
			set, is := object.(*gatewayv1.ListenerSet)
			if !is {
				return nil
			}
			return []string{read.GatewayOfSet(set).String()}
		}); err != nil {
			return err
		}
	}
	for _, object := range l.kinds.Routes() {
		if err := indexer.IndexField(ctx, object, indexGateway, l.gatewayOfRoute); err != nil {
			return err
		}
		if err := indexer.IndexField(ctx, object, indexSet, l.setOfRoute); err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many Gateways are reconciled at a time.
const atOnce = 4

// gatewayOfRoute returns the Gateway on which a route asks for a number; "/" if its annotation names none.
func (l *line) gatewayOfRoute(object client.Object) []string {
	if asks, is := l.asks(object); is {
		return []string{asks.Gateway.String()}
	}
	return nil
}

// setOfRoute returns the ListenerSet that a route asks for.
func (l *line) setOfRoute(object client.Object) []string {
	if asks, is := l.asks(object); is {
		return []string{asks.ListenerSet}
	}
	return nil
}

// asks parses a route that asks for a number; false for any other object.
func (l *line) asks(object client.Object) (validation.Route, bool) {
	route, is := read.RouteOf(object)
	if !is || !route.AsksForNumber(l.Language) {
		return validation.Route{}, false
	}
	_, asks := route.Channel(l.Language)
	return asks, true
}

// gatewaysOf returns the Gateways that a change of an object concerns.
func (l *line) gatewaysOf(ctx context.Context, object client.Object) []types.NamespacedName {
	switch o := object.(type) {
	case *gatewayv1.Gateway:
		return []types.NamespacedName{client.ObjectKeyFromObject(o)}
	case *gatewayv1.ListenerSet:
		// A route may ask for a set of this name on another Gateway.
		return append(l.askedFor(ctx, o.Namespace, client.MatchingFields{indexSet: o.Name}), read.GatewayOfSet(o))
	case *metav1.PartialObjectMetadata:
		return l.gatewaysOfLedger(o)
	case *corev1.Namespace:
		return l.askedFor(ctx, o.Name)
	}
	if asks, is := l.asks(object); is {
		return []types.NamespacedName{asks.Gateway}
	}
	return nil
}

// askedFor returns the Gateways on which some routes of a namespace ask for numbers, each once.
func (l *line) askedFor(ctx context.Context, namespace string,
	some ...client.ListOption) (gateways []types.NamespacedName) {
	seen := map[types.NamespacedName]bool{}
	err := l.eachRoute(ctx, func(route *read.Route) {
		if _, asks := route.Channel(l.Language); !seen[asks.Gateway] {
			seen[asks.Gateway] = true
			gateways = append(gateways, asks.Gateway)
		}
	}, append(some, client.InNamespace(namespace))...)
	if err != nil {
		l.Log.Error(err, "routes can't be listed: a change in their namespace waits for the next change of each Gateway",
			"namespace", namespace)
	}
	return gateways
}

// gatewaysOfLedger returns the Gateway that a ledger names, and all frozen Gateways beside it: this ConfigMap may be
// their ledger.
func (l *line) gatewaysOfLedger(cm *metav1.PartialObjectMetadata) []types.NamespacedName {
	gateways := l.frozenIn(cm.Namespace)
	if mux, is := muxOfLedger(cm, l.keys.Mux); is {
		gateways = append(gateways, mux)
	}
	return gateways
}

// strayOf returns a route that no longer asks for a number, but still has our part of the status.
func (l *line) strayOf(_ context.Context, object client.Object) []types.NamespacedName {
	route, is := read.RouteOf(object)
	if !is || route.AsksForNumber(l.Language) || route.Said(&l.keys) == nil {
		return nil
	}
	return []types.NamespacedName{route.Key()}
}
