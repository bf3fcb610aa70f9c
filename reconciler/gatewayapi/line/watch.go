package line

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/controllers"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/run"
)

// Indexes find ListenerSets by their Gateway, and routes by their parents and by the Services of their backends.
const (
	indexGateway = "served-gateway"
	indexParent  = "served-parent"
	indexBackend = "served-backend"
)

// quiet is how long a pass waits for more changes.
const quiet = 20 * time.Millisecond

// parentKey returns the text that stands for a parent in the index. parseParent parses it.
func parentKey(kind string, key types.NamespacedName) string { return kind + "/" + key.String() }

func parseParent(text string) (kind string, key types.NamespacedName) {
	kind, rest, _ := strings.Cut(text, "/")
	key.Namespace, key.Name, _ = strings.Cut(rest, "/")
	return kind, key
}

// parentsOf returns the parents that a route names, and those in our entries of its status.
func (l *serving) parentsOf(object client.Object) (parents []string) {
	route, is := read.RouteOf(object)
	if !is {
		return nil
	}
	add := func(ref *gatewayv1.ParentReference) {
		if kind, key := read.ParentOf(&route, ref); kind == "Gateway" || kind == "ListenerSet" {
			if parent := parentKey(kind, key); !slices.Contains(parents, parent) {
				parents = append(parents, parent)
			}
		}
	}
	for i := range route.Spec.ParentRefs {
		add(&route.Spec.ParentRefs[i])
	}
	for i := range route.Status.Parents {
		if route.Status.Parents[i].ControllerName == read.ControllerName(&l.keys) {
			add(&route.Status.Parents[i].ParentRef)
		}
	}
	return parents
}

func (l *serving) setup(ctx context.Context, m manager.Manager) error {
	woken := make(chan event.GenericEvent, 1024)
	if err := l.index(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	watched := append(l.kinds.Routes(), &gatewayv1.Gateway{}, &gatewayv1.GatewayClass{}, &corev1.Service{},
		&corev1.Namespace{})
	if l.kinds.Has("ListenerSet") {
		watched = append(watched, &gatewayv1.ListenerSet{})
	}
	if l.kinds.Has("ReferenceGrant") {
		watched = append(watched, &gatewayv1.ReferenceGrant{})
	}
	gateways := []source.Source{source.Channel(woken,
		handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
		}))}
	var strays []source.Source
	for _, object := range watched {
		gateways = append(gateways, source.Kind(m.GetCache(), object, run.Wakes(quiet, l.gatewaysOf)))
		strays = append(strays, source.Kind(m.GetCache(), object, run.Wakes(quiet, l.straysOf)))
	}
	classes := source.Kind[client.Object](m.GetCache(), &gatewayv1.GatewayClass{}, &handler.EnqueueRequestForObject{})
	if err := errors.Join(
		controllers.Add(m, "served-gateway", controller.Options{Reconciler: l, MaxConcurrentReconciles: atOnce}, gateways...),
		controllers.Add(m, "gatewayclass", controller.Options{Reconciler: reconcile.Func(l.reconcileClass)}, classes),
		controllers.Add(m, "served-route", controller.Options{Reconciler: reconcile.Func(l.reconcileStray)}, strays...),
	); err != nil {
		return err
	}
	l.Board.connect(l.readLive, func(gateway types.NamespacedName) {
		select {
		case woken <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Namespace: gateway.Namespace, Name: gateway.Name}}}:
		case <-ctx.Done():
		}
	})
	return m.Add(manager.RunnableFunc(l.fill))
}

// atOnce is how many Gateways are reconciled at a time.
const atOnce = 4

func (l *serving) index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, object := range l.kinds.Routes() {
		if err := indexer.IndexField(ctx, object, indexParent, l.parentsOf); err != nil {
			return err
		}
		if err := indexer.IndexField(ctx, object, indexBackend, func(object client.Object) (keys []string) {
			if route, is := read.RouteOf(object); is {
				for _, key := range route.Services() {
					keys = append(keys, key.String())
				}
			}
			return keys
		}); err != nil {
			return err
		}
	}
	if !l.kinds.Has("ListenerSet") {
		return nil
	}
	return indexer.IndexField(ctx, &gatewayv1.ListenerSet{}, indexGateway, func(object client.Object) []string {
		return []string{read.GatewayOfSet(object.(*gatewayv1.ListenerSet)).String()}
	})
}

// fill tells the board once it has the listeners of every served Gateway.
func (l *serving) fill(ctx context.Context) error {
	for ctx.Err() == nil {
		if done, err := l.isFull(ctx); done && err == nil {
			l.Board.full()
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(behindPause):
		}
	}
	return nil
}

func (l *serving) isFull(ctx context.Context) (bool, error) {
	var list gatewayv1.GatewayList
	if err := l.cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(list.Items, func(g gatewayv1.Gateway) bool {
		key := client.ObjectKeyFromObject(&g)
		return l.serves(key) && !l.passed[key]
	}), nil
}

// gatewaysOf returns the Gateways that a change of an object concerns.
func (l *serving) gatewaysOf(ctx context.Context, object client.Object) (gateways []types.NamespacedName) {
	switch o := object.(type) {
	case *gatewayv1.Gateway:
		return []types.NamespacedName{client.ObjectKeyFromObject(o)}
	case *gatewayv1.GatewayClass:
		return l.gatewaysOfClass(ctx, o.Name)
	case *gatewayv1.ListenerSet:
		return []types.NamespacedName{read.GatewayOfSet(o)}
	case *gatewayv1.ReferenceGrant:
		return l.gatewaysOfRoutes(ctx, func(route *read.Route) bool {
			return slices.ContainsFunc(route.Services(), func(key types.NamespacedName) bool {
				return key.Namespace == o.Namespace
			})
		})
	case *corev1.Namespace:
		return l.gatewaysThat(ctx, func(*gatewayv1.Gateway) bool { return true })
	case *corev1.Service:
		if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "Gateway" {
			gateways = append(gateways, types.NamespacedName{Namespace: o.Namespace, Name: owner.Name})
		}
		return append(gateways,
			l.gatewaysOfRoutes(ctx, nil, client.MatchingFields{indexBackend: client.ObjectKeyFromObject(o).String()})...)
	}
	if _, is := read.RouteOf(object); is {
		return l.gatewaysOfParents(ctx, l.parentsOf(object))
	}
	return nil
}

// gatewaysOfRoutes returns the Gateways of some routes, each once.
func (l *serving) gatewaysOfRoutes(ctx context.Context, concerned func(*read.Route) bool,
	which ...client.ListOption) []types.NamespacedName {
	var parents []string
	err := l.kinds.EachRoute(ctx, l.cache, func(route *read.Route) {
		if concerned == nil || concerned(route) {
			parents = append(parents, l.parentsOf(route.Object.(client.Object))...)
		}
	}, which...)
	if err != nil {
		l.Log.Error(err, "routes can't be listed: a change of their backends waits for the next change of each Gateway")
	}
	return l.gatewaysOfParents(ctx, parents)
}

func (l *serving) gatewaysOfParents(ctx context.Context, parents []string) (gateways []types.NamespacedName) {
	for _, parent := range parents {
		kind, key := parseParent(parent)
		if kind == "ListenerSet" {
			var set gatewayv1.ListenerSet
			if l.cache.Get(ctx, key, &set, client.UnsafeDisableDeepCopy) != nil {
				continue // the event of the ListenerSet itself wakes the Gateway
			}
			key = read.GatewayOfSet(&set)
		}
		if !slices.Contains(gateways, key) {
			gateways = append(gateways, key)
		}
	}
	return gateways
}

func (l *serving) gatewaysOfClass(ctx context.Context, class string) []types.NamespacedName {
	return l.gatewaysThat(ctx, func(g *gatewayv1.Gateway) bool { return string(g.Spec.GatewayClassName) == class })
}

func (l *serving) gatewaysThat(ctx context.Context,
	concerned func(*gatewayv1.Gateway) bool) (gateways []types.NamespacedName) {
	var list gatewayv1.GatewayList
	if err := l.cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		l.Log.Error(err, "Gateways can't be listed: a change waits for the next change of each Gateway")
	}
	for i := range list.Items {
		if concerned(&list.Items[i]) {
			gateways = append(gateways, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return gateways
}

// wakeClass wakes the Gateways of a GatewayClass.
func (l *serving) wakeClass(class string) {
	for _, gateway := range l.gatewaysOfClass(context.Background(), class) {
		l.Board.wakeFor(gateway)
	}
}
