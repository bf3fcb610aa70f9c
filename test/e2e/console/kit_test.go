// Package console tests the console in a browser, while a reconciler works on a real API server.
package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/provider"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	prefix       = "svc-mux.nowake.ai"
	muxNamespace = "infra"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a cluster, and a user of it.
type world struct{ *cluster.Cluster }

func start(t *testing.T, options ...cluster.Option) *world {
	t.Helper()
	w := &world{cluster.Start(t, append(options, cluster.APIServerOnly())...)}
	if _, err := provider.Start(t.Context(), w.Client, cluster.PoolIPv4(), netip.Prefix{}); err != nil {
		t.Fatal(err)
	}
	w.namespace(t, muxNamespace)
	return w
}

func (w *world) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := w.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// running is a reconciler in the test's process.
type running struct {
	log     *product.Log
	address string
	stop    func()
}

// reconcile runs a reconciler with a console, and waits until the console is served.
func (w *world) reconcile(t *testing.T, edits ...func(*run.Process)) *running {
	t.Helper()
	options := run.DefaultOptions(func(string) string { return "" })
	options.Namespace, options.ProbeAddress, options.ConsoleAddress = muxNamespace, "127.0.0.1:0", "127.0.0.1:0"
	options.RetryPeriod = 500 * time.Millisecond // so that a second reconciler leads soon after the end of the first
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst = -1, -1
	r := &running{log: &product.Log{}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	p := run.Process{Options: options, Config: config, Version: "v1.2.3", Logs: r.log, Now: time.Now}
	for _, edit := range edits {
		edit(&p)
	}
	go func() { ended <- p.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the reconciler failed: %v", err)
		}
	})
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Logf("reconciler's log:\n%s", r.log)
		}
	})
	cluster.Eventually(t, "the console is served", func(context.Context) error {
		for line := range strings.Lines(r.log.String()) {
			var entry struct{ ConsoleAddress string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.ConsoleAddress != "" {
				r.address = entry.ConsoleAddress
				return nil
			}
		}
		return fmt.Errorf("the log doesn't show the console's address yet")
	})
	return r
}

// edit changes a Service before it is created.
type edit func(*corev1.Service)

func annotated(key, value string) edit {
	return func(svc *corev1.Service) {
		if !strings.Contains(key, "/") {
			key = prefix + "/" + key
		}
		svc.Annotations[key] = value
	}
}

func port(name string, number int32) edit {
	return func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: name, Port: number})
	}
}

func (w *world) mux(t *testing.T, name string, edits ...edit) types.NamespacedName {
	t.Helper()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: muxNamespace, Name: name, Annotations: map[string]string{
			prefix + "/multiplexer": "true", prefix + "/port-range": "20000-20099",
		}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: ptr.To(false),
			Ports: []corev1.ServicePort{{Name: "placeholder", Port: 101}},
		},
	}
	return w.create(t, svc, edits)
}

// channel creates a channel. Unless an edit adds a port, it has http on 80, as auto.
func (w *world) channel(t *testing.T, namespace, name string, mux string, edits ...edit) types.NamespacedName {
	t.Helper()
	w.namespace(t, namespace)
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(prefix + "/" + mux + "." + muxNamespace),
			AllocateLoadBalancerNodePorts: ptr.To(false),
		},
	}
	return w.create(t, svc, edits)
}

func (w *world) create(t *testing.T, svc *corev1.Service, edits []edit) types.NamespacedName {
	t.Helper()
	for _, edit := range edits {
		edit(svc)
	}
	if len(svc.Spec.Ports) == 0 {
		svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
		annotated("external-ports", "http:auto")(svc)
	}
	if _, err := w.Client.CoreV1().Services(svc.Namespace).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

// backs gives a channel backends, some of them ready, as the endpoints controller does.
func (w *world) backs(t *testing.T, channel types.NamespacedName, ready, total int, ports ...string) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: channel.Namespace, Name: channel.Name + "-1",
			Labels: map[string]string{discoveryv1.LabelServiceName: channel.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	if len(ports) == 0 {
		ports = []string{"http"}
	}
	for i, name := range ports {
		slice.Ports = append(slice.Ports,
			discoveryv1.EndpointPort{Name: &name, Port: ptr.To(int32(8080 + i)), Protocol: ptr.To(corev1.ProtocolTCP)})
	}
	for i := range total {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.0.%d.%d", len(channel.Name), i+1)},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(i < ready)},
			NodeName:   ptr.To(fmt.Sprintf("node-%d", i%3+1)),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: channel.Namespace,
				Name: fmt.Sprintf("%s-%d", channel.Name, i)},
		})
	}
	slices := w.Client.DiscoveryV1().EndpointSlices(channel.Namespace)
	if _, err := slices.Create(t.Context(), slice, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		_, err = slices.Update(t.Context(), slice, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	} else if err != nil {
		t.Fatal(err)
	}
}

// shop fills the cluster with one example of everything that the console shows.
func (w *world) shop(t *testing.T) {
	t.Helper()
	w.mux(t, "edge", annotated("allowed-namespaces", "shop,payments,search"), annotated("release-grace", "1h"),
		annotated("max-ports", "60"),
		port("ssh", 22))
	// Create the channels in the order of their names. Then their numbers are in that order, too, however many channels
	// one pass decides about.
	w.channel(t, "payments", "invoices", "edge")
	w.backs(t, w.channel(t, "payments", "ledger", "edge"), 0, 2)
	w.backs(t, w.channel(t, "search", "query", "edge", port("http", 8080), port("grpc", 9090),
		annotated("external-ports", "grpc:auto")), 6, 6, "http", "grpc")
	for i, name := range []string{"cart", "catalog", "checkout", "images", "login", "reviews"} {
		w.backs(t, w.channel(t, "shop", name, "edge"), 2+i%3, 2+i%3)
	}
	web := w.channel(t, "shop", "web", "edge", port("http", 80), port("https", 443))
	w.backs(t, web, 3, 4, "http", "https")
	w.await(t, web)
	gone := w.channel(t, "search", "old-index", "edge")
	w.await(t, gone)
	if err := w.Client.CoreV1().Services(gone.Namespace).Delete(t.Context(), gone.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.channel(t, "payments", "clash", "edge", port("https", 443))
	w.channel(t, "intern", "tool", "edge")
	w.channel(t, "shop", "beta", "edge", annotated("disabled", "true"))
	w.channel(t, "shop", "lost", "nowhere")
	w.mux(t, "internal", annotated("port-range", "30000-31999"))
	w.mux(t, "paused", annotated("disabled", "true"), annotated("port-range", "40000-40009"))
	for i := range 5 {
		w.backs(t, w.channel(t, "jobs", fmt.Sprintf("worker-%d", i), "internal"), 1, 1)
	}
	w.await(t, types.NamespacedName{Namespace: "jobs", Name: "worker-4"})
}

// await waits until a channel is programmed.
func (w *world) await(t *testing.T, channel types.NamespacedName) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s is programmed", channel), func(ctx context.Context) error {
		svc, err := w.Client.CoreV1().Services(channel.Namespace).Get(ctx, channel.Name, metav1.GetOptions{})
		if err == nil && len(svc.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("conditions: %v", svc.Status.Conditions)
		}
		return err
	})
}
