package webhook

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/reconciler/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/numbers/forecast"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// gateways holds the objects that predictions about routes need. It puts Gateways that give numbers into the index as
// muxes, and routes that ask for a number as channels: the allocator treats them so, too. The index's lock guards the
// maps.
type gateways struct {
	lang       validation.Language
	index      *index
	gateways   map[types.NamespacedName]*gatewayv1.Gateway
	sets       map[types.NamespacedName]*gatewayv1.ListenerSet
	namespaces map[string]labels.Set
}

func newGateways(lang validation.Language, index *index) *gateways {
	return &gateways{lang: lang, index: index, gateways: map[types.NamespacedName]*gatewayv1.Gateway{},
		sets: map[types.NamespacedName]*gatewayv1.ListenerSet{}, namespaces: map[string]labels.Set{}}
}

// feeds returns the feeds of the kinds that predictions about routes need. A cluster may lack TCPRoutes or UDPRoutes.
func (g *gateways) feeds(c clients) []feed {
	of := func(resource string, object, list runtime.Object, isNeeded bool,
		set func(types.NamespacedName, metav1.Object)) feed {
		return feed{
			client: c.gatewayAPI, resource: resource, object: object, list: list.DeepCopyObject, isCustom: true,
			isNeeded: isNeeded,
			store:    func(read func()) cache.ReflectorStore { return &store{mu: &g.index.mu, set: set, read: read} },
		}
	}
	namespaces := of("namespaces", &corev1.Namespace{}, &corev1.NamespaceList{}, true, g.setNamespace)
	namespaces.client, namespaces.isCustom = c.core, false
	return []feed{
		namespaces,
		of("gateways", &gatewayv1.Gateway{}, &gatewayv1.GatewayList{}, true, g.setGateway),
		of("listenersets", &gatewayv1.ListenerSet{}, &gatewayv1.ListenerSetList{}, true, g.setListenerSet),
		of("tcproutes", &gatewayv1.TCPRoute{}, &gatewayv1.TCPRouteList{}, false, g.setRoute(read.TCPRoute)),
		of("udproutes", &gatewayv1.UDPRoute{}, &gatewayv1.UDPRouteList{}, false, g.setRoute(read.UDPRoute)),
	}
}

func (g *gateways) setNamespace(key types.NamespacedName, object metav1.Object) {
	was, known := g.namespaces[key.Name]
	delete(g.namespaces, key.Name)
	if object != nil {
		g.namespaces[key.Name] = object.GetLabels()
	}
	if is, still := g.namespaces[key.Name]; known == still && maps.Equal(was, is) {
		return
	}
	for gateway := range g.gateways {
		g.enter(gateway)
	}
}

func (g *gateways) setGateway(key types.NamespacedName, object metav1.Object) {
	delete(g.gateways, key)
	if gateway, is := object.(*gatewayv1.Gateway); is {
		gateway.Status = gatewayv1.GatewayStatus{}
		g.gateways[key] = gateway
	}
	g.enter(key)
}

func (g *gateways) setListenerSet(key types.NamespacedName, object metav1.Object) {
	changed := map[types.NamespacedName]bool{}
	if was := g.sets[key]; was != nil {
		changed[read.GatewayOfSet(was)] = true
		delete(g.sets, key)
	}
	if set, is := object.(*gatewayv1.ListenerSet); is {
		set.Status = gatewayv1.ListenerSetStatus{}
		g.sets[key] = set
		changed[read.GatewayOfSet(set)] = true
	}
	for gateway := range changed {
		g.enter(gateway)
	}
}

func (g *gateways) setRoute(kind string) func(types.NamespacedName, metav1.Object) {
	return func(key types.NamespacedName, object metav1.Object) {
		route, is := read.RouteOf(object)
		if !is {
			named := read.NewRoute(kind)
			named.SetNamespace(key.Namespace)
			named.SetName(key.Name)
			route, _ = read.RouteOf(named)
		}
		var now entry
		if is && route.AsksForNumber(g.lang) {
			channel, _ := route.Channel(g.lang)
			channel.ResourceVersion, channel.Conditions = "", nil
			now.channel = &channel
		}
		g.index.set(route.Key(), now)
	}
}

// enter brings a Gateway up to date in the index.
func (g *gateways) enter(key types.NamespacedName) {
	var now entry
	if gateway := g.gateways[key]; gateway != nil && read.Asks(g.lang, gateway) {
		keys := g.lang.Keys()
		now.mux = read.Mux(g.lang, gateway, read.Numbers(&keys, gateway, g.setsOf(key)), g.namespaces)
		now.mux.ResourceVersion = ""
	}
	g.index.set(read.MuxKey(key), now)
}

// setsOf returns the ListenerSets of a Gateway, sorted.
func (g *gateways) setsOf(gateway types.NamespacedName) []*gatewayv1.ListenerSet {
	var sets []*gatewayv1.ListenerSet
	for _, set := range g.sets {
		if read.GatewayOfSet(set) == gateway {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, func(a, b *gatewayv1.ListenerSet) int {
		return plan.CompareKeys(types.NamespacedName{Namespace: a.Namespace, Name: a.Name},
			types.NamespacedName{Namespace: b.Namespace, Name: b.Name})
	})
	return sets
}

// absent returns why a Gateway gives no numbers. mux is the Gateway's key in the index. For the key of a Service,
// absent returns an empty text. The caller holds the index's lock.
func (g *gateways) absent(mux types.NamespacedName) string {
	gateway, is := read.GatewayOf(mux)
	switch {
	case !is:
		return ""
	case g.gateways[gateway] == nil:
		return read.NoGateway(gateway)
	}
	keys := g.lang.Keys()
	return read.NoRange(gateway, &keys)
}

// predictRoute returns the predictions for a route without problems. before is nil if the route didn't ask for a
// number.
func (p *predictor) predictRoute(before *plan.ObservedChannel, after plan.ObservedChannel) []forecast.Prediction {
	switch {
	case p == nil || p.routesReady == nil:
		return nil
	case !p.routesReady():
		p.metrics.skipped(skippedUnready)
		return nil
	}
	return p.withTimeout(func() []forecast.Prediction {
		outlook := p.index.outlook(after.Mux)
		if outlook == nil {
			return nil
		}
		predictions := outlook.Channel(before, after, p.hide)
		keys := p.lang.Keys()
		for i := range predictions { // a route has its settings elsewhere than a Service
			switch predictions[i].Field {
			case "spec.loadBalancerClass":
				predictions[i].Field = "metadata.annotations[" + keys.Gateway + "]"
			case "spec.ports":
				predictions[i].Field = "metadata.annotations[" + keys.ExternalPorts + "]"
			}
		}
		return predictions
	})
}
