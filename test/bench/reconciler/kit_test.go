package reconciler

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	prefix = "svc-mux.nowake.ai"
	space  = "svc-mux"
	// atOnce is the number of concurrent requests of each client, ours and the bare one. It is the reconciler's
	// default.
	atOnce = 16
)

func TestMain(m *testing.M) { cluster.Main(m) }

// bench is a cluster, a client of it, and the objects that watches have shown.
type bench struct {
	*cluster.Cluster
	client  kubernetes.Interface
	program string
	process *cluster.Component
	eyes    *eyes
}

func start(b *testing.B, options ...cluster.Option) *bench {
	b.Helper()
	w := &bench{Cluster: cluster.Start(b, append(options, cluster.WithProvider())...)}
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst, config.UserAgent = -1, -1, "bench"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	w.client = client
	w.program = product.BuildForTest(b, "reconciler")
	for _, name := range []string{space, "app"} {
		_, err := client.CoreV1().Namespaces().Create(b.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			b.Fatal(err)
		}
	}
	w.eyes = open(b, client)
	return w
}

// run starts the reconciler. A long lease keeps it the leader on a busy machine.
func (w *bench) run(b *testing.B) {
	b.Helper()
	if w.process != nil {
		must(b, w.process.Start())
		return
	}
	process, err := w.Add("reconciler", w.program, "--namespace="+space, "--probe-address=127.0.0.1:8081",
		"--lease-duration=60s", "--renew-deadline=40s", "--retry-period=500ms")
	must(b, err)
	w.process = process
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// mux creates a mux and waits for its address.
func (w *bench) mux(b *testing.B, name string) {
	b.Helper()
	_, err := w.client.CoreV1().Services(space).Create(b.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, Annotations: map[string]string{
			prefix + "/multiplexer": "true", prefix + "/port-range": "20000-29999",
		}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: ptr.To(false),
			Ports: []corev1.ServicePort{{Name: "placeholder", Port: 101}},
		},
	}, metav1.CreateOptions{})
	must(b, err)
	w.eyes.await(b, "the mux's address", func(e *eyes) bool {
		return len(e.service(space+"/"+name).Status.LoadBalancer.Ingress) > 0
	})
}

// source returns a channel's slice as the endpoints controller writes it.
func source(name string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name + "-1", Labels: map[string]string{
			discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "bench",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080),
			Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for i := range 3 {
		slice.Endpoints = append(slice.Endpoints, endpoint(i))
	}
	return slice
}

func endpoint(i int) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{fmt.Sprintf("10.200.%d.%d", i/200, i%200+1)}, NodeName: ptr.To("node-1"),
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: "app", Name: fmt.Sprintf("pod-%d", i)},
	}
}

func channel(name, mux string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, Annotations: map[string]string{
			prefix + "/external-ports": "http:auto",
		}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(prefix + "/" + mux + "." + space),
			AllocateLoadBalancerNodePorts: ptr.To(false), Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
}

// sources and channels create their objects concurrently.
func (w *bench) sources(b *testing.B, names []string) {
	sideBySide(b, names, func(name string) error {
		_, err := w.client.DiscoveryV1().EndpointSlices("app").Create(b.Context(), source(name), metav1.CreateOptions{})
		return err
	})
}

func (w *bench) channels(b *testing.B, mux string, names []string) {
	sideBySide(b, names, func(name string) error {
		_, err := w.client.CoreV1().Services("app").Create(b.Context(), channel(name, mux), metav1.CreateOptions{})
		return err
	})
}

func sideBySide(b testing.TB, names []string, do func(string) error) {
	b.Helper()
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, name := range names {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if err := do(name); err != nil {
				b.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

func names(word string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%05d", word, i)
	}
	return list
}

// programmed returns whether every channel shows an address, and the mux has a port and a slice for each.
func programmed(names []string) func(*eyes) bool {
	return func(e *eyes) bool {
		for _, name := range names {
			if len(e.service("app/"+name).Status.LoadBalancer.Ingress) == 0 {
				return false
			}
		}
		return len(e.service(space+"/mux").Spec.Ports) >= len(names) && e.onMux >= len(names)
	}
}

// usage is the processor time and memory that the process has used so far.
type usage struct {
	cpu      time.Duration
	resident float64 // MiB
}

// usage reads /proc. The process runs in another PID namespace, so it is found by its program and not by its process
// ID.
func (w *bench) usage(b *testing.B) usage {
	b.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/exe")
	must(b, err)
	for _, link := range found {
		if target, err := os.Readlink(link); err != nil || target != w.program {
			continue
		}
		dir := filepath.Dir(link)
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		must(b, err)
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
		ticks := 0.0
		for _, i := range []int{11, 12} { // utime, stime
			n, err := strconv.ParseFloat(fields[i], 64)
			must(b, err)
			ticks += n
		}
		pages, err := strconv.ParseFloat(fields[21], 64)
		must(b, err)
		return usage{time.Duration(ticks / 100 * float64(time.Second)), pages * float64(os.Getpagesize()) / (1 << 20)}
	}
	b.Fatalf("no process runs %s", w.program)
	return usage{}
}

// requests counts the reconciler's requests in the API server's audit log by verb and resource, without leases.
func (w *bench) requests(b *testing.B) map[string]int {
	b.Helper()
	events, err := w.Audited()
	must(b, err)
	counts := map[string]int{}
	for _, e := range events {
		if strings.HasPrefix(e.UserAgent, "svc-lb-mux-reconciler") && e.ObjectRef.Resource != "" &&
			e.ObjectRef.Resource != "leases" {
			counts[strings.TrimSuffix(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")]++
		}
	}
	return counts
}

func less(a, b map[string]int) map[string]int {
	diff := map[string]int{}
	for kind, n := range a {
		if n != b[kind] {
			diff[kind] = n - b[kind]
		}
	}
	return diff
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// eyes holds the latest Services and slices of a watch.
type eyes struct {
	mu       sync.Mutex
	changed  *sync.Cond
	services map[string]*corev1.Service
	slices   map[string]*discoveryv1.EndpointSlice
	onMux    int
}

func open(b *testing.B, client kubernetes.Interface) *eyes {
	b.Helper()
	e := &eyes{services: map[string]*corev1.Service{}, slices: map[string]*discoveryv1.EndpointSlice{}}
	e.changed = sync.NewCond(&e.mu)
	informers := informers.NewSharedInformerFactory(client, 0)
	look(b, informers.Core().V1().Services().Informer(), func(obj any) {
		if svc, ok := obj.(*corev1.Service); ok {
			e.see(func() { e.services[svc.Namespace+"/"+svc.Name] = svc })
		}
	})
	look(b, informers.Discovery().V1().EndpointSlices().Informer(), func(obj any) {
		if slice, ok := obj.(*discoveryv1.EndpointSlice); ok {
			e.see(func() { e.seeSlice(slice) })
		}
	})
	informers.Start(b.Context().Done())
	informers.WaitForCacheSync(b.Context().Done())
	return e
}

func look(b *testing.B, informer cache.SharedIndexInformer, see func(any)) {
	b.Helper()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) },
	})
	must(b, err)
}

func (e *eyes) seeSlice(slice *discoveryv1.EndpointSlice) {
	key := slice.Namespace + "/" + slice.Name
	if slice.Namespace == space && e.slices[key] == nil {
		e.onMux++
	}
	e.slices[key] = slice
}

func (e *eyes) see(note func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	note()
	e.changed.Broadcast()
}

// await waits for a condition, and returns the time at which the watch met it.
func (e *eyes) await(b testing.TB, what string, is func(*eyes) bool) time.Time {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, func() { e.see(func() {}) })()
	e.mu.Lock()
	defer e.mu.Unlock()
	for !is(e) {
		if ctx.Err() != nil {
			b.Fatalf("not true after three minutes: %s", what)
		}
		e.changed.Wait()
	}
	return time.Now()
}

// size returns the size of an object as JSON.
func size(object any) float64 {
	text, _ := json.Marshal(object)
	return float64(len(text))
}

// service returns the latest version of a Service, or an empty Service.
func (e *eyes) service(key string) *corev1.Service {
	if svc := e.services[key]; svc != nil {
		return svc
	}
	return &corev1.Service{}
}
