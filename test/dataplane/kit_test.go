// Package dataplane tests the packets of clients at a mux's address. The product is installed from its chart, on real
// nodes, with the real kube-proxy. `make test` uses kube-proxy's nftables mode, `make long` also its iptables mode.
package dataplane

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/dataplane/packets"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	prefix = "svc-mux.nowake.ai"
	// edge is the namespace of the muxes, shop the namespace of most channels.
	edge, shop = "edge", "shop"
	// teams is the number of namespaces with apps of the crowd.
	teams = 5
)

// world is a cluster of two nodes with the product installed.
type world struct {
	*cluster.Cluster
	life      context.Context // ends with the cluster
	farewells *farewells
	class     string // loadBalancerClass of muxes on gateways; empty with a provider
}

// start starts the cluster. The caller chooses kube-proxy's mode. Two reconcilers run, so that one can take over.
func start(t *testing.T, mode ...cluster.Option) *world {
	t.Helper()
	options := append(mode, cluster.Nodes(2, product.Archives(t)...), cluster.Kwok(), cluster.WithProvider(),
		cluster.Helm())
	w := begin(t, options)
	product.Install(t, w.Cluster, "certs.mode=selfManaged", "replicaCount=2")
	return w.ready(t)
}

// startGateways starts a cluster without a provider, whose nodes are gateways.
func startGateways(t *testing.T, mode ...cluster.Option) *world {
	t.Helper()
	w := begin(t, append(mode, cluster.Nodes(2, product.Archives(t, "gateway")...), cluster.Kwok(), cluster.Helm()))
	w.class = "gateway." + prefix + "/rack"
	t.Cleanup(func() {
		if t.Failed() {
			w.tellOfGateways(t)
		}
	})
	product.Install(t, w.Cluster, "certs.mode=selfManaged", "replicaCount=2", "images.gateway.tag="+product.Version,
		"defaultLoadBalancer.loadBalancerClass="+w.class, "gateways.pools[0].name=rack",
		"gateways.pools[0].addresses={172.31.0.100-172.31.0.109,fd00:31::100-fd00:31::109}",
		"gateways.pools[0].routerIDs={51,52}", "gateways.pools[0].advertInterval=1s")
	product.SeparateStates(t, w.Cluster, "rack")
	return w.ready(t)
}

func (w *world) tellOfGateways(t *testing.T) {
	for _, args := range [][]string{{"get", "pods,services", "--all-namespaces", "--output=wide"},
		{"logs", "--namespace=svc-mux", "--selector=app.kubernetes.io/name=svc-mux-gateway", "--prefix", "--tail=30"}} {
		out, _ := w.TryKubectl(context.WithoutCancel(t.Context()), "", args...)
		t.Log(out.Stdout, out.Stderr)
	}
}

func begin(t *testing.T, options []cluster.Option) *world {
	t.Helper()
	w := &world{Cluster: cluster.Start(t, options...), life: t.Context()}
	if err := w.AddFakeNodes(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := w.AnswerForFakePods(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) ready(t *testing.T) *world {
	t.Helper()
	w.namespaces(t, edge, shop)
	w.watchFarewells(t)
	return w
}

func (w *world) namespaces(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := w.Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// mux creates a mux in the namespace edge, and waits for its address.
func (w *world) mux(t *testing.T, name string, annotations ...string) {
	t.Helper()
	class := ""
	if w.class != "" {
		class = "loadBalancerClass: " + w.class + ","
	}
	w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Service,
		metadata: {name: %s, namespace: %s, annotations: {%s/multiplexer: "true", %s}},
		spec: {type: LoadBalancer, %s ipFamilyPolicy: PreferDualStack, ports: [{name: placeholder, port: 101}]}}`,
		name, edge, prefix, strings.Join(annotations, ", "), class))
	w.address(t, edge, name)
}

func annotation(key, value string) string { return fmt.Sprintf("%s/%s: %q", prefix, key, value) }

// channel returns a channel in the namespace shop. Ports are YAML: "{name: http, port: 80, targetPort: 8080}".
func channel(name, mux, app, externalPorts string, ports ...string) string {
	return channelIn(shop, name, mux, app, externalPorts, ports...)
}

func channelIn(namespace, name, mux, app, externalPorts string, ports ...string) string {
	return fmt.Sprintf(`
---
{apiVersion: v1, kind: Service,
 metadata: {name: %s, namespace: %s, annotations: {%s/external-ports: %q}},
 spec: {type: LoadBalancer, loadBalancerClass: %s/%s.%s, allocateLoadBalancerNodePorts: false,
   ipFamilyPolicy: PreferDualStack,
  selector: {app: %s}, ports: [%s]}}`,
		name, namespace, prefix, externalPorts, prefix, mux, edge, app, strings.Join(ports, ", "))
}

// onePort is the port of most channels.
const onePort = "{name: http, port: 80, targetPort: 8080}"

// quiet is the time in seconds that a pod waits, after it was told to end, until no new connection and no datagram
// arrives any more.
const quiet = 5

// app returns a Deployment in the namespace shop. Its pods answer with their names over TCP and UDP.
func app(name string, replicas int, more ...string) string {
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[1]s}}
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 2}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      %[5]s
      containers:
      - name: serve
        image: %[4]s
        args: [serve]
        ports: [{name: web, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1, failureThreshold: 1,
          timeoutSeconds: 60}
        # The pod becomes unready first, and serves until every proxy has noticed.
        lifecycle: {preStop: {exec: {command: [/pod, leave, "%[6]d"]}}}
      terminationGracePeriodSeconds: 90`, name, shop, replicas, cluster.PodImage,
		strings.Join(more, "\n      "), quiet)
}

// rolledOut waits until all pods of Deployments in the namespace shop are ready.
func (w *world) rolledOut(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		w.Kubectl(t, "rollout", "status", "deployment/"+name, "--namespace="+shop, "--timeout=300s")
	}
}

func (w *world) service(t *testing.T, namespace, name string) *corev1.Service {
	t.Helper()
	svc, err := w.Client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// address waits for a Service's first address, and returns it.
func (w *world) address(t *testing.T, namespace, name string) string {
	t.Helper()
	return w.addresses(t, namespace, name)[0]
}

// addresses waits for an address, and returns all addresses of a Service.
func (w *world) addresses(t *testing.T, namespace, name string) (all []string) {
	t.Helper()
	cluster.Eventually(t, namespace+"/"+name+" has an address", func(context.Context) error {
		for _, ingress := range w.service(t, namespace, name).Status.LoadBalancer.Ingress {
			all = append(all, ingress.IP)
		}
		if len(all) == 0 {
			return fmt.Errorf("no address yet")
		}
		return nil
	})
	return all
}

// ports waits until a channel is programmed, and returns the public number of each of its ports.
func (w *world) ports(t *testing.T, namespace, name string) map[string]int {
	t.Helper()
	var ports map[string]int
	cluster.Eventually(t, namespace+"/"+name+" is programmed", func(context.Context) (err error) {
		svc := w.service(t, namespace, name)
		if !says(svc, "Programmed", metav1.ConditionTrue) || len(svc.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("status: %v", svc.Status)
		}
		ports, err = publicOf(svc)
		return err
	})
	return ports
}

func says(svc *corev1.Service, kind string, status metav1.ConditionStatus) bool {
	return slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == prefix+"/"+kind && c.Status == status
	})
}

// publicOf parses an annotation such as "http:80->20000, dns:53->53".
func publicOf(svc *corev1.Service) (map[string]int, error) {
	ports := map[string]int{}
	for part := range strings.SplitSeq(svc.Annotations[prefix+"/ports"], ",") {
		name, numbers, _ := strings.Cut(strings.TrimSpace(part), ":")
		_, public, _ := strings.Cut(numbers, "->")
		number, err := strconv.Atoi(public)
		if err != nil {
			return nil, fmt.Errorf("%s/%s has ports %q", svc.Namespace, svc.Name, svc.Annotations[prefix+"/ports"])
		}
		ports[name] = number
	}
	return ports, nil
}

// public returns the public address and number of a channel's port.
func (w *world) public(t *testing.T, name, port string) string {
	t.Helper()
	return at(w.address(t, shop, name), w.ports(t, shop, name)[port])
}

func at(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

func isIPv6(ip string) bool {
	address, err := netip.ParseAddr(ip)
	return err == nil && address.Is6()
}

// ofApp returns a function that says whether a pod belongs to a Deployment, or has that name itself.
func ofApp(name string) func(pod string) bool {
	return func(pod string) bool { return pod == name || strings.HasPrefix(pod, name+"-") }
}

type asking func(context.Context, packets.Dialer, string) (string, error)

// answers waits until the right pod answers at an address. An answer of a wrong pod fails the test at once.
func (w *world) answers(t *testing.T, from packets.Dialer, ask asking, address string, right func(string) bool) {
	t.Helper()
	cluster.Eventually(t, address+" is answered", func(ctx context.Context) error {
		pod, err := ask(ctx, from, address)
		if err == nil && !right(pod) {
			t.Errorf("at %s, pod %q answers", address, pod)
		}
		return err
	})
}
