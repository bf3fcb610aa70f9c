// Package foreign tests the product beside a real load balancer provider: the LB IPAM of Cilium's operator. Cilium
// decides which Service gets an address, and when.
package foreign

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/binaries"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

const (
	prefix = "svc-mux.nowake.ai"
	// infra is the namespace of muxes, shop the namespace of channels.
	infra, shop = "infra", "shop"
	// machine is the control plane's address. This test answers there for pods.
	machine = "172.31.0.1"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a cluster in which Cilium provides load balancers.
type world struct {
	*cluster.Cluster
	provider *cluster.Component
	pods     int
}

func start(t *testing.T) *world {
	t.Helper()
	bin, err := cluster.Binaries(t.Context(), binaries.Cilium())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Cluster: cluster.Start(t)}
	w.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+infra+"}}\n---\n"+
		"{apiVersion: v1, kind: Namespace, metadata: {name: "+shop+"}}")
	w.Kubectl(t, "apply", "--server-side", "--filename",
		filepath.Join(bin["cilium"], "crds", "ciliumloadbalancerippools.yaml"))
	w.Kubectl(t, "wait", "--for=condition=Established", "--timeout=60s", "crd/ciliumloadbalancerippools.cilium.io")
	if w.provider, err = w.Add("cilium", filepath.Join(bin["cilium"], "cilium")); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	return w
}

// reconcile runs the reconciler in the test's process until the test ends.
func (w *world) reconcile(t *testing.T) {
	t.Helper()
	options := run.DefaultOptions(func(string) string { return "" })
	options.Namespace, options.ProbeAddress = infra, "127.0.0.1:0"
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst, config.UserAgent = -1, -1, "reconciler"
	// stays open: goroutines may log after Run returned
	log, err := os.Create(filepath.Join(t.TempDir(), "reconciler.log"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	process := run.Process{Options: options, Config: config, Version: "test", Logs: log, Now: time.Now}
	go func() { ended <- process.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the reconciler failed: %v", err)
		}
		if text, err := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the reconciler's log (%v):\n%s", err, text)
		}
	})
}

// pool is a range of addresses. Cilium assigns them to Services whose label "pool" has the pool's name.
type pool struct{ name, first, last string }

func (p pool) contains(address netip.Addr) bool {
	return netip.MustParseAddr(p.first).Compare(address) <= 0 && address.Compare(netip.MustParseAddr(p.last)) <= 0
}

func (p pool) manifest() string {
	return fmt.Sprintf(`
apiVersion: cilium.io/v2alpha1
kind: CiliumLoadBalancerIPPool
metadata: {name: %[1]s}
spec:
  blocks: [{start: %[2]s, stop: %[3]s}]
  serviceSelector: {matchLabels: {pool: %[1]s}}
---`, p.name, p.first, p.last)
}

// mux returns a mux that takes its address from the pool of its own name. spec is added to the mux's spec.
func mux(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata:
  name: %[1]s
  namespace: %[2]s
  labels: {pool: %[1]s}
  annotations: {%[3]s/multiplexer: "true", %[3]s/port-range: 20000-20099}
spec:
  type: LoadBalancer
  allocateLoadBalancerNodePorts: false
  ports: [{name: placeholder, port: 101}]
  %[4]s
---`, name, infra, prefix, spec)
}

// channel returns the manifest of a channel of the mux, and starts a server that answers with the channel's name. The
// channel has the pool's label, too: only its class keeps the provider away from it.
func (w *world) channel(t *testing.T, name, mux string) string {
	t.Helper()
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s, labels: {pool: %[3]s}, annotations: {%[4]s/external-ports: "http:auto"}}
spec:
  type: LoadBalancer
  loadBalancerClass: %[4]s/%[3]s.%[5]s
  allocateLoadBalancerNodePorts: false
  ports: [{name: http, port: 80}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, namespace: %[2]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: http, port: %[6]d}]
endpoints: [{addresses: [%[7]s]}]
---`, name, shop, mux, prefix, infra, w.pod(t, name), machine)
}

// pod starts a server that answers with a name, and returns its port.
func (w *world) pod(t *testing.T, name string) int {
	t.Helper()
	w.pods++
	port := 9000 + w.pods
	listener, err := w.Inside().Listen("tcp", net.JoinHostPort(machine, fmt.Sprint(port)))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, name) })}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return port
}

func (w *world) get(t *testing.T, namespace, name string) *corev1.Service {
	t.Helper()
	svc, err := w.Client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}
