// Package gateways tests muxes that our own gateways carry: the chart is installed with one pool on real nodes, and
// clients outside send packets to the pool's addresses. No provider runs.
package gateways

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	prefix    = "svc-mux.nowake.ai"
	namespace = product.Namespace
	shop      = "shop"
	pool      = "rack"
	class     = "gateway." + prefix + "/" + pool
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a cluster of two nodes on one segment. Both are gateways of the pool, whose addresses are on that segment.
type world struct {
	*cluster.Cluster
	dualStack bool
}

// values are those of a bare-metal install with one pool and the default mux on it.
func values(dualStack bool) []string {
	addresses := `"172.31.0.100-172.31.0.103"`
	if dualStack {
		addresses += `,"fd00:31::100-fd00:31::103"`
	}
	return []string{
		"--set=certs.mode=selfManaged", "--set=images.gateway.tag=" + product.Version,
		"--set=defaultLoadBalancer.loadBalancerClass=" + class,
		fmt.Sprintf(
			`--set-json=gateways.pools=[{"name":%q,"addresses":[%s],"routerIDs":[51,52],"releaseGrace":"10s",`+
				`"probeBackends":"1s"}]`, pool, addresses),
	}
}

func start(t *testing.T, options ...cluster.Option) *world {
	t.Helper()
	w := &world{Cluster: cluster.Start(t,
		append(options, cluster.Nodes(2, product.Archives(t, "gateway")...), cluster.Helm())...)}
	w.dualStack = w.Nodes()[0].IPv6 != "" && hasIPv6(t, w)
	w.namespace(t, shop)
	t.Cleanup(func() {
		if t.Failed() {
			w.tell(t)
		}
	})
	if out, err := (product.Helm{Release: product.Release, Namespace: namespace, Args: values(w.dualStack)}).
		Install(t.Context(), w.Cluster); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return w
}

func hasIPv6(t *testing.T, w *world) bool {
	t.Helper()
	node, err := w.Client.CoreV1().Nodes().Get(t.Context(), w.Nodes()[0].Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool {
		return strings.Contains(a.Address, ":")
	})
}

// tell prints what the gateways and their objects look like.
func (w *world) tell(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second) // a dead node doesn't answer
	defer cancel()
	for _, args := range [][]string{
		{"logs", "--namespace=" + namespace, "--selector=app.kubernetes.io/name=svc-mux-gateways", "--prefix", "--tail=30"},
		{"logs", "--namespace=" + namespace, "--selector=app.kubernetes.io/name=svc-mux-gateway", "--prefix", "--tail=30"},
		{"get", "services,pods", "--all-namespaces", "--output=wide"},
		{"get", "leases,configmaps", "--namespace=" + namespace, "--selector=" + prefix + "/pool", "--output=yaml"},
	} {
		out, _ := w.TryKubectl(ctx, "", args...)
		t.Log(out.Stdout, out.Stderr)
	}
}

func (w *world) namespace(t *testing.T, name string) {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := w.Client.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// app runs pods that answer with their names, one on each node, and a channel of the default mux.
func (w *world) app(t *testing.T, name, externalPorts string) {
	t.Helper()
	w.Apply(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule,
          labelSelector: {matchLabels: {app: %[1]s}}}
      containers:
      - name: serve
        image: %[3]s
        args: [serve]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s, annotations: {%[4]s/external-ports: %[5]q}}
spec:
  type: LoadBalancer
  loadBalancerClass: %[4]s/mux.%[6]s
  allocateLoadBalancerNodePorts: false
  ipFamilyPolicy: PreferDualStack
  selector: {app: %[1]s}
  ports: [{name: http, port: 80, targetPort: 8080}]
`, name, shop, cluster.PodImage, prefix, externalPorts, namespace))
	w.Kubectl(t, "rollout", "status", "deployment/"+name, "--namespace="+shop, "--timeout=120s")
}

func (w *world) service(t *testing.T, namespace, name string) *corev1.Service {
	t.Helper()
	svc, err := w.Client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// addresses waits until a Service shows its addresses.
func (w *world) addresses(t *testing.T, namespace, name string) (all []string) {
	t.Helper()
	cluster.Eventually(t, namespace+"/"+name+" has an address", func(context.Context) error {
		svc := w.service(t, namespace, name)
		for _, ingress := range svc.Status.LoadBalancer.Ingress {
			all = append(all, ingress.IP)
		}
		if len(all) == 0 {
			return fmt.Errorf("no address: %v", svc.Status.Conditions)
		}
		return nil
	})
	return all
}

// says waits until a condition of a Service has a status and a reason.
func (w *world) says(t *testing.T, namespace, name, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s/%s is %s=%s (%s)", namespace, name, kind, status, reason),
		func(context.Context) error {
			conditions := w.service(t, namespace, name).Status.Conditions
			if slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
				return c.Type == prefix+"/"+kind && c.Status == status && c.Reason == reason
			}) {
				return nil
			}
			return fmt.Errorf("conditions: %v", conditions)
		})
}

// ask opens a new connection to an address and returns the name of the pod that answers.
func ask(ctx context.Context, from cluster.Client, address string) (string, error) {
	within, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(within, http.MethodGet, "http://"+address+"/", http.NoBody)
	if err != nil {
		return "", err
	}
	client := from.HTTP()
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(body), err
}

// answers waits until pods of an app answer at an address.
func (w *world) answers(t *testing.T, from cluster.Client, ip, port string) {
	t.Helper()
	cluster.Eventually(t, net.JoinHostPort(ip, port)+" is answered", func(ctx context.Context) error {
		_, err := ask(ctx, from, net.JoinHostPort(ip, port))
		return err
	})
}

// carrier returns the node that has an address on its interface. There must be at most one.
func (w *world) carrier(ctx context.Context, ip string) (string, error) {
	var found []string
	for _, node := range w.Nodes() {
		out, err := w.Run(ctx, cluster.Program{Net: node.Name,
			Args: []string{"/bin/sh", "-c", "ip -brief address show dev eth0"}})
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(strings.Fields(out.Stdout), func(word string) bool {
			return strings.HasPrefix(word, ip+"/")
		}) {
			found = append(found, node.Name)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s is on %d nodes: %v", ip, len(found), found)
	}
	return found[0], nil
}
