package reconciler

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clientgocache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// BenchmarkRoutes creates 1,000 TCPRoutes at once, once for each feature of the Gateway API. It measures the time from
// the last creation until all is written. The floor is a client with as many concurrent requests as the reconciler,
// which makes only the necessary writes.
func BenchmarkRoutes(b *testing.B) {
	const n = 1000
	b.Run("allocator", func(b *testing.B) {
		for b.Loop() {
			allocated(b, n)
		}
	})
	b.Run("implementation", func(b *testing.B) {
		for b.Loop() {
			served(b, n)
		}
	})
}

// routes is a cluster with the Gateway API.
type routes struct {
	*bench
	client client.Client
	seen   map[string]*gatewayv1.TCPRoute
	sets   map[string]*gatewayv1.ListenerSet
}

func startRoutes(b *testing.B, flag string) *routes {
	w := start(b, cluster.Audit())
	product.InstallGatewayAPI(b, w.Cluster)
	scheme := runtime.NewScheme()
	must(b, gatewayv1.Install(scheme))
	must(b, corev1.AddToScheme(scheme))
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst, config.UserAgent = -1, -1, "bench"
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(b, err)
	r := &routes{bench: w, client: c, seen: map[string]*gatewayv1.TCPRoute{}, sets: map[string]*gatewayv1.ListenerSet{}}
	watched, err := cache.New(config, cache.Options{Scheme: scheme})
	must(b, err)
	see := func(object any) {
		w.eyes.see(func() {
			switch o := object.(type) {
			case *gatewayv1.TCPRoute:
				r.seen[o.Name] = o
			case *gatewayv1.ListenerSet:
				r.sets[o.Name] = o
			}
		})
	}
	for _, kind := range []client.Object{&gatewayv1.TCPRoute{}, &gatewayv1.ListenerSet{}} {
		informer, err := watched.GetInformer(b.Context(), kind, cache.BlockUntilSynced(false))
		must(b, err)
		_, err = informer.AddEventHandler(clientgocache.ResourceEventHandlerFuncs{AddFunc: see,
			UpdateFunc: func(_, object any) { see(object) }})
		must(b, err)
	}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	running.Go(func() { _ = watched.Start(ctx) })
	b.Cleanup(func() { stop(); running.Wait() })
	process, err := w.Add("reconciler", w.program, "--namespace="+space, "--probe-address=127.0.0.1:8081", flag,
		"--lease-duration=60s", "--renew-deadline=40s", "--retry-period=500ms")
	must(b, err)
	w.process = process
	return r
}

// create creates objects concurrently.
func (r *routes) create(b *testing.B, names []string, object func(name string) client.Object) {
	b.Helper()
	sideBySide(b, names, func(name string) error { return r.client.Create(b.Context(), object(name)) })
}

// route returns a TCPRoute whose parent is the ListenerSet of the same name.
func route(name string, annotations map[string]string) *gatewayv1.TCPRoute {
	return &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, Annotations: annotations},
		Spec: gatewayv1.TCPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{
				{Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: gatewayv1.ObjectName(name)}}},
			Rules: []gatewayv1.TCPRouteRule{
				{BackendRefs: []gatewayv1.BackendRef{{BackendObjectReference: gatewayv1.BackendObjectReference{
					Name: gatewayv1.ObjectName(name), Port: ptr.To(gatewayv1.PortNumber(80))}}}}},
		}}
}

func listenerSet(name string, port int) *gatewayv1.ListenerSet {
	return &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name},
		Spec: gatewayv1.ListenerSetSpec{
			ParentRef: gatewayv1.ParentGatewayReference{Namespace: ptr.To(gatewayv1.Namespace(space)), Name: "edge"},
			Listeners: []gatewayv1.ListenerEntry{{Name: "tcp", Port: gatewayv1.PortNumber(port),
				Protocol: gatewayv1.TCPProtocolType}},
		}}
}

func gateway(class string, annotations map[string]string) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "edge", Annotations: annotations},
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: gatewayv1.ObjectName(class),
			Listeners:        []gatewayv1.Listener{{Name: "first", Port: 9, Protocol: gatewayv1.TCPProtocolType}},
			AllowedListeners: &gatewayv1.AllowedListeners{
				Namespaces: &gatewayv1.ListenerNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}},
		}}
}

// says returns whether all routes have a parent that a controller accepted and, if number is true, the annotation with
// their number.
func (r *routes) says(names []string, controller string, number bool) func(*eyes) bool {
	return func(*eyes) bool {
		for _, name := range names {
			route := r.seen[name]
			if route == nil || number && route.Annotations[prefix+"/ports"] == "" || !isAccepted(route, controller) {
				return false
			}
		}
		return true
	}
}

// opened returns whether the ListenerSets of all routes say that their port is on the mux and that a route is attached.
func (r *routes) opened(names []string) func(*eyes) bool {
	return func(*eyes) bool {
		for _, name := range names {
			set := r.sets[name]
			if set == nil || len(set.Status.Listeners) != 1 || set.Status.Listeners[0].AttachedRoutes != 1 ||
				!meta.IsStatusConditionTrue(set.Status.Conditions, "Programmed") {
				return false
			}
		}
		return true
	}
}

func isAccepted(route *gatewayv1.TCPRoute, controller string) bool {
	for _, parent := range route.Status.Parents {
		if string(parent.ControllerName) != controller {
			continue
		}
		for _, c := range parent.Conditions {
			if strings.HasSuffix(c.Type, "Accepted") && c.Status == metav1.ConditionTrue {
				return true
			}
		}
	}
	return false
}

// floorOf measures writes on objects that the reconciler ignores: each of the writes for each name, with at most atOnce
// requests under way for each kind of write.
func floorOf(b *testing.B, names []string, writes ...func(name string) error) time.Duration {
	begin := time.Now()
	var all sync.WaitGroup
	for _, write := range writes {
		all.Go(func() { sideBySide(b, names, write) })
	}
	all.Wait()
	return time.Since(begin)
}

// statusOf is a status as a controller writes it.
var statusOf = []byte(
	`{"status":{"parents":[{"parentRef":{"kind":"ListenerSet","name":"x"},"controllerName":"example.com/nobody",` +
		`"conditions":[` +
		`{"type":"Accepted","status":"True","reason":"Accepted","message":"all ports have a number",` +
		`"lastTransitionTime":"2026-01-01T00:00:00Z"},` +
		`{"type":"ResolvedRefs","status":"True","reason":"ResolvedRefs","message":"all backends are there",` +
		`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}]}}`)

func (r *routes) patchStatus(b *testing.B) func(string) error {
	return func(name string) error {
		return r.client.Status().Patch(b.Context(), route(name, nil), client.RawPatch(types.MergePatchType, statusOf))
	}
}

func (r *routes) setNote(b *testing.B) func(string) error {
	return func(name string) error {
		return r.client.Patch(b.Context(), route(name, nil),
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/ports":"20000"}}}`)))
	}
}

// allocated has routes that ask for a number on a Gateway that nobody serves. Each needs a ListenerSet, a status and an
// annotation.
func allocated(b *testing.B, n int) {
	r := startRoutes(b, "--gateway-api-allocator")
	must(b, r.client.Create(b.Context(), gateway("of-nobody", map[string]string{prefix + "/port-range": "20000-29999"})))
	floor := r.floor(b, n, func(name string) error {
		set := listenerSet(name, 80)
		set.Spec.ParentRef.Name = "none"
		return r.client.Create(b.Context(), set)
	}, r.patchStatus(b), r.setNote(b))
	asks := map[string]string{prefix + "/gateway": space + "/edge", prefix + "/external-ports": "auto"}
	warm, all := names("warm", 1), names("route", n)
	r.create(b, warm, func(name string) client.Object { return route(name, asks) })
	r.eyes.await(b, "a first route", r.says(warm, prefix+"/allocator", true))
	r.create(b, all, func(name string) client.Object { return route(name, asks) })
	last := time.Now()
	done := r.eyes.await(b, "all routes", r.says(all, prefix+"/allocator", true))
	figure.Against(os.Stdout, fmt.Sprintf("reconciler/routes-allocated-%d", n), milliseconds(done.Sub(last)), "ms",
		milliseconds(floor), 1.5)
	b.Logf("requests: %v", r.requests(b))
}

// served has routes on listeners of a Gateway of ours. Each route needs its own status, its ListenerSet's status, and a
// slice.
func served(b *testing.B, n int) {
	r := startRoutes(b, "--gateway-api-implementation")
	must(b, r.client.Create(b.Context(), &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "mux"},
		Spec: gatewayv1.GatewayClassSpec{ControllerName: prefix + "/gateway"}}))
	must(b, r.client.Create(b.Context(), gateway("mux", nil)))
	floor := r.floor(b, n, r.patchStatus(b), func(name string) error {
		return r.client.Status().Patch(b.Context(), listenerSet("set-"+name, 80),
			client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":[`+
				`{"type":"Accepted","status":"True","reason":"Accepted","message":"",`+
				`"lastTransitionTime":"2026-01-01T00:00:00Z"}],"listeners":[{"name":"tcp","attachedRoutes":1,`+
				`"supportedKinds":[],"conditions":[{"type":"Accepted","status":"True","reason":"Accepted","message":"",`+
				`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}]}}`)))
	}, func(name string) error {
		slice := source(name)
		slice.Name = "floor-" + name
		slice.Labels["kubernetes.io/service-name"] = "nobody"
		_, err := r.bench.client.DiscoveryV1().EndpointSlices("app").Create(b.Context(), slice, metav1.CreateOptions{})
		return err
	})
	warm, all := names("warm", 1), names("route", n)
	r.serve(b, warm, 19999)
	r.eyes.await(b, "a first route", r.says(warm, prefix+"/gateway", false))
	r.serve(b, all, 20000)
	last := time.Now()
	done := r.eyes.await(b, "all routes, ListenerSets and slices", func(e *eyes) bool {
		return e.onMux > n && r.says(all, prefix+"/gateway", false)(e) && r.opened(all)(e)
	})
	figure.Against(os.Stdout, fmt.Sprintf("reconciler/routes-served-%d", n), milliseconds(done.Sub(last)), "ms",
		milliseconds(floor), 1.5)
	b.Logf("requests: %v", r.requests(b))
}

// serve creates backends, ListenerSets and routes.
func (r *routes) serve(b *testing.B, all []string, first int) {
	b.Helper()
	number := map[string]int{}
	for i, name := range all {
		number[name] = first + i
	}
	r.sources(b, all)
	r.create(b, all, func(name string) client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name},
			Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone,
				Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	})
	r.create(b, all, func(name string) client.Object { return listenerSet(name, number[name]) })
	r.create(b, all, func(name string) client.Object { return route(name, nil) })
}

// floor creates objects that the reconciler ignores, and measures writes to them. The first requests to a fresh API
// server are slow.
func (r *routes) floor(b *testing.B, n int, writes ...func(string) error) time.Duration {
	var took time.Duration
	for _, all := range [][]string{names("warm-up", 20), names("floor", n)} {
		r.create(b, all, func(name string) client.Object {
			x := route(name, nil)
			x.Spec.ParentRefs[0].Name = "none"
			return x
		})
		r.create(b, all, func(name string) client.Object {
			set := listenerSet("set-"+name, 80)
			set.Spec.ParentRef.Name = "none"
			return set
		})
		took = floorOf(b, all, writes...)
	}
	return took
}
