package gatewayapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// served is a cluster with load balancers, whose Gateways the reconciler serves.
type served struct {
	*world
	stop    func()
	granted []product.Right
}

// class is a GatewayClass of ours.
const class = `
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: mux},
  spec: {controllerName: svc-mux.nowake.ai/gateway}}
`

func startServed(t *testing.T) *served {
	t.Helper()
	w := &world{Cluster: cluster.Start(t, cluster.WithProvider(), cluster.Audit(), cluster.Helm()), log: &product.Log{}}
	w.connect(t)
	if err := w.AnswerForFakePods(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Kubectl(t, "create", "namespace", "svc-mux")
	product.InstallGatewayAPI(t, w.Cluster)
	s := &served{world: w, granted: w.grant(t, "implementation")}
	s.stop = w.reconcile(t, "implementation")
	t.Cleanup(func() { s.stop() })
	w.Apply(t, class)
	for _, port := range []int{8080, 9090} {
		s.answer(t, port)
	}
	return s
}

// answer answers each connection to any backend with the backend's address and port.
func (s *served) answer(t *testing.T, port int) {
	t.Helper()
	listener, err := s.Inside().Listen("tcp", fmt.Sprintf("[::]:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, strings.TrimPrefix(conn.LocalAddr().String(), "::ffff:"))
			_ = conn.Close()
		}
	}()
}

// backend is a Service with one backend: 10.244.200.N.
func backend(namespace, name string, n int) string {
	return fmt.Sprintf(`
{apiVersion: v1, kind: Service, metadata: {name: %[2]s, namespace: %[1]s},
  spec: {ports: [{name: main, port: 80}, {name: admin, port: 81}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[2]s-1, namespace: %[1]s, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
ports: [{name: main, port: 8080}, {name: admin, port: 9090}]
endpoints: [{addresses: [10.244.200.%[3]d]}]
---
`, namespace, name, n)
}

// ask connects to an address from outside of the cluster, and returns which backend answered.
func (s *served) ask(ctx context.Context, address string, port int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := s.Outside().Dial(ctx, "tcp", net.JoinHostPort(address, fmt.Sprint(port)))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// reaches waits until a port of an address leads to a backend.
func (s *served) reaches(t *testing.T, address string, port int, backend string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s:%d leads to %s", address, port, backend), func(ctx context.Context) error {
		got, err := s.ask(ctx, address, port)
		if err == nil && got != backend {
			err = fmt.Errorf("%s answers", got)
		}
		return err
	})
}

// address waits for a Gateway's address.
func (s *served) address(t *testing.T, namespace, name string) (address string) {
	t.Helper()
	var g gatewayv1.Gateway
	cluster.Eventually(t, "the Gateway is programmed", func(ctx context.Context) error {
		if err := s.api.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &g); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(g.Status.Conditions, "Programmed") || len(g.Status.Addresses) == 0 {
			return fmt.Errorf("%+v", g.Status)
		}
		address = g.Status.Addresses[0].Value
		return nil
	})
	return address
}

// says waits until conditions of an object are as expected: "Accepted=True/Accepted".
func says(t *testing.T, what string, want []string, conditions func(context.Context) ([]metav1.Condition, error)) {
	t.Helper()
	cluster.Eventually(t, what+" says "+strings.Join(want, " "), func(ctx context.Context) error {
		got, err := conditions(ctx)
		if err != nil {
			return err
		}
		for _, one := range want {
			kind, rest, _ := strings.Cut(one, "=")
			c := meta.FindStatusCondition(got, kind)
			if c == nil || string(c.Status)+"/"+c.Reason != rest {
				return fmt.Errorf("%+v", got)
			}
		}
		return nil
	})
}

func (s *served) listener(namespace, gateway, name string) func(context.Context) ([]metav1.Condition, error) {
	return func(ctx context.Context) ([]metav1.Condition, error) {
		var g gatewayv1.Gateway
		if err := s.api.Get(ctx, types.NamespacedName{Namespace: namespace, Name: gateway}, &g); err != nil {
			return nil, err
		}
		for _, l := range g.Status.Listeners {
			if string(l.Name) == name {
				return l.Conditions, nil
			}
		}
		return nil, fmt.Errorf("no listener %s: %+v", name, g.Status)
	}
}

func (s *served) route(namespace, name string) func(context.Context) ([]metav1.Condition, error) {
	return func(ctx context.Context) ([]metav1.Condition, error) {
		var r gatewayv1.TCPRoute
		if err := s.api.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &r); err != nil {
			return nil, err
		}
		for _, p := range r.Status.Parents {
			if p.ControllerName == "svc-mux.nowake.ai/gateway" {
				return p.Conditions, nil
			}
		}
		return nil, fmt.Errorf("nothing is said: %+v", r.Status)
	}
}

// TestServed has Gateways of ours with real packets.
func TestServed(t *testing.T) {
	s := startServed(t)
	s.Apply(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: infra}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {edge: "yes"}}}
---
`+backend("infra", "web", 1)+backend("shop", "broker", 2)+backend("shop", "other", 3)+`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: mux
  allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {edge: "yes"}}}}
  listeners:
  - {name: web, port: 80, protocol: TCP}
  - {name: admin, port: 81, protocol: TCP, allowedRoutes: {namespaces: {from: All}}}
  - {name: http, port: 8000, protocol: HTTP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: web, namespace: infra}
spec: {parentRefs: [{name: edge, sectionName: web}], rules: [{backendRefs: [{name: web, port: 80}]}]}
`)
	address := s.address(t, "infra", "edge")
	s.reaches(t, address, 80, "10.244.200.1:8080")
	says(t, "the listener", []string{"Accepted=True/Accepted", "Programmed=True/Programmed",
		"Conflicted=False/NoConflicts", "ResolvedRefs=True/ResolvedRefs"},
		s.listener("infra", "edge", "web"))
	says(t, "the listener of HTTP", []string{"Accepted=False/UnsupportedProtocol", "Programmed=False/Invalid"},
		s.listener("infra", "edge", "http"))
	says(t, "the route", []string{"Accepted=True/Accepted", "ResolvedRefs=True/ResolvedRefs"}, s.route("infra", "web"))

	t.Run("a tenant's ListenerSet", func(t *testing.T) { testTenant(t, s, address) })
	t.Run("a backend of another namespace", func(t *testing.T) { testGrant(t, s, address) })
	t.Run("a UDPRoute", func(t *testing.T) { testUDP(t, s, address) })
	t.Run("routes that can't be served", func(t *testing.T) { testBadRoutes(t, s, address) })
	t.Run("svcmux", func(t *testing.T) { testCommandLine(t, s, address) })
	t.Run("a restart", func(t *testing.T) { testRestart(t, s, address) })
	t.Run("a GatewayClass that can't be read", func(t *testing.T) { testClassUnread(t, s, address) })
	t.Run("a ListenerSet that goes", func(t *testing.T) { testSetGoes(t, s) })
	t.Run("a Gateway that is deleted and created again", func(t *testing.T) { testRecreated(t, s) })
	t.Run("a Gateway whose class changes hands", func(t *testing.T) { testOtherClass(t, s) })
	t.Run("a Gateway in a namespace that isn't served", func(t *testing.T) { testUnserved(t, s) })
	t.Run("ListenerSets by the sentences of the specification", func(t *testing.T) { testListenerSets(t, s) })
	s.stop()
	if !t.Failed() {
		product.CompareRights(t, s.Cluster, user, s.granted, s.without...)
	}
	t.Run("numbers for routes, on a Gateway of ours", func(t *testing.T) { testBothFeatures(t, s) })
}

func testTenant(t *testing.T, s *served, address string) {
	s.Apply(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: broker, namespace: shop}
spec: {parentRef: {namespace: infra, name: edge}, listeners: [{name: tcp, port: 9092, protocol: TCP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: broker, namespace: shop}
spec: {parentRefs: [{kind: ListenerSet, name: broker}], rules: [{backendRefs: [{name: broker, port: 81}]}]}
`)
	s.reaches(t, address, 9092, "10.244.200.2:9090")
	s.Apply(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: younger, namespace: shop}
spec:
  parentRef: {namespace: infra, name: edge}
  listeners: [{name: tcp, port: 9092, protocol: TCP}, {name: free, port: 9093, protocol: TCP}]
`)
	says(t, "a younger ListenerSet", []string{"Accepted=True/ListenersNotValid", "Programmed=True/Programmed"},
		s.set("shop", "younger"))
	s.Kubectl(t, "label", "namespace", "shop", "edge=no", "--overwrite")
	says(t, "a ListenerSet that isn't admitted any more", []string{"Accepted=False/NotAllowed"}, s.set("shop", "broker"))
	cluster.Eventually(t, "nothing answers at its port", func(ctx context.Context) error {
		if got, err := s.ask(ctx, address, 9092); err == nil {
			return errors.New(got + " answers")
		}
		return nil
	})
	s.Kubectl(t, "label", "namespace", "shop", "edge=yes", "--overwrite")
	s.reaches(t, address, 9092, "10.244.200.2:9090")
	s.reaches(t, address, 80, "10.244.200.1:8080")
}

func (s *served) set(namespace, name string) func(context.Context) ([]metav1.Condition, error) {
	return func(ctx context.Context) ([]metav1.Condition, error) {
		var set gatewayv1.ListenerSet
		err := s.api.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &set)
		return set.Status.Conditions, err
	}
}

func testGrant(t *testing.T, s *served, address string) {
	s.Apply(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: admin, namespace: shop}
spec: {parentRefs: [{name: edge, namespace: infra, sectionName: admin}],
  rules: [{backendRefs: [{name: web, namespace: infra, port: 81}]}]}
`)
	says(t, "the route", []string{"Accepted=True/Accepted", "ResolvedRefs=False/RefNotPermitted"},
		s.route("shop", "admin"))
	s.Apply(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: shop, namespace: infra}
spec: {from: [{group: gateway.networking.k8s.io, kind: TCPRoute, namespace: shop}],
  to: [{group: "", kind: Service, name: web}]}
`)
	s.reaches(t, address, 81, "10.244.200.1:9090")
	s.Kubectl(t, "delete", "referencegrant", "shop", "--namespace=infra")
	says(t, "the route", []string{"ResolvedRefs=False/RefNotPermitted"}, s.route("shop", "admin"))
	cluster.Eventually(t, "nothing answers without the grant", func(ctx context.Context) error {
		if got, err := s.ask(ctx, address, 81); err == nil {
			return errors.New(got + " answers")
		}
		return nil
	})
}

func testUDP(t *testing.T, s *served, address string) {
	s.Apply(t, `
{apiVersion: v1, kind: Service, metadata: {name: dns, namespace: shop}, spec: {ports: [{port: 53, protocol: UDP}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: dns-1, namespace: shop, labels: {kubernetes.io/service-name: dns}}
addressType: IPv4
ports: [{port: 5353, protocol: UDP}]
endpoints: [{addresses: [10.244.200.5]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: dns, namespace: shop}
spec: {parentRef: {namespace: infra, name: edge}, listeners: [{name: udp, port: 9092, protocol: UDP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: dns, namespace: shop}
spec: {parentRefs: [{kind: ListenerSet, name: dns}], rules: [{backendRefs: [{name: dns, port: 53}]}]}
`)
	cluster.Eventually(t, "the mux has the port and its backend", func(ctx context.Context) error {
		ports := map[string]int32{}
		for _, p := range s.mux(t, "infra", "gateway-edge").Spec.Ports {
			if p.Protocol == corev1.ProtocolUDP {
				ports[p.Name] = p.Port
			}
		}
		list, err := s.Client.DiscoveryV1().EndpointSlices("infra").List(ctx,
			metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=gateway-edge"})
		if err != nil {
			return err
		}
		for _, slice := range list.Items {
			for _, p := range slice.Ports {
				if ports[*p.Name] == 9092 && *p.Port == 5353 && slice.Endpoints[0].Addresses[0] == "10.244.200.5" {
					return nil
				}
			}
		}
		return fmt.Errorf("ports %v, slices %+v", ports, list.Items)
	})
	s.reaches(t, address, 9092, "10.244.200.2:9090") // TCP has the same number
}

func testBadRoutes(t *testing.T, s *served, address string) {
	routes := map[string]struct{ parent, backends, want string }{
		"missing-listener": {"{name: edge, namespace: infra, sectionName: nothing}", "{name: other, port: 80}",
			"Accepted=False/NoMatchingParent"},
		"not-allowed": {"{name: edge, namespace: infra, sectionName: web}", "{name: other, port: 80}",
			"Accepted=False/NotAllowedByListeners"},
		"other-protocol": {"{name: edge, namespace: infra, sectionName: http}", "{name: other, port: 80}",
			"Accepted=False/NotAllowedByListeners"},
		"weights": {"{kind: ListenerSet, name: broker}", "{name: other, port: 80, weight: 3}, {name: broker, port: 80}",
			"Accepted=False/UnequalWeights"},
		"missing-backend": {"{kind: ListenerSet, name: broker}", "{name: nothing, port: 80}",
			"ResolvedRefs=False/BackendNotFound"},
		"missing-port": {"{kind: ListenerSet, name: broker}", "{name: other, port: 8888}",
			"ResolvedRefs=False/BackendNotFound"},
		"kind": {"{kind: ListenerSet, name: broker}", "{name: other, kind: Lake, group: example.com, port: 80}",
			"ResolvedRefs=False/InvalidKind"},
		"younger": {"{kind: ListenerSet, name: broker}", "{name: other, port: 80}", "Accepted=True/Accepted"},
	}
	for name, r := range routes {
		s.Apply(t, fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: %s, namespace: shop}
spec: {parentRefs: [%s], rules: [{backendRefs: [%s]}]}
`, name, r.parent, r.backends))
		says(t, name, []string{r.want}, s.route("shop", name))
	}
	s.reaches(t, address, 9092, "10.244.200.2:9090") // the oldest route's
	for name := range routes {
		s.Kubectl(t, "delete", "tcproute", name, "--namespace=shop")
	}
}

func testCommandLine(t *testing.T, s *served, address string) {
	program, err := product.CommandLine(t.Context(), t.TempDir(), product.Version)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := filepath.Join(t.TempDir(), "snapshot.json.gz")
	out, err := s.Run(t.Context(), cluster.Program{Args: []string{program, "snapshot", snapshot}})
	if err != nil || !strings.Contains(out.Stdout, "GatewayClass") || strings.Contains(out.Stderr, "You may not read") {
		t.Errorf("svcmux snapshot: %v\n%s%s", err, out.Stdout, out.Stderr)
	}
	for args, want := range map[string]string{
		"ports":                            "9092/TCP shop/listenerset/broker/tcp tcp explicit",
		"ports infra/gateway-edge -o wide": "80/TCP infra/gateway/edge/web tcp explicit",
		"status infra/gateway-edge": "refuses infra/gateway/edge/http, shop/listenerset/younger/tcp: svcmux " +
			"explain infra/gateway/edge/http tells why",
		"explain shop/listenerset/broker/tcp":   "ok route TCPRoute shop/broker",
		"explain infra/gateway-edge:80":         "ok address " + address,
		"explain tcproute/broker -n shop":       "ok parent ListenerSet shop/broker, by svc-mux.nowake.ai/gateway: accepted",
		"explain infra/gateway-edge:9092":       "infra/gateway-edge:9092/TCP, which is shop/listenerset/broker/tcp,",
		"explain udproute/dns -n shop":          "ok parent ListenerSet shop/dns",
		"explain infra/gateway-edge:80 -o json": `"whole": true`,
	} {
		for _, args := range [...]string{args, args + " --snapshot " + snapshot} {
			out, err := s.Run(t.Context(), cluster.Program{Args: append([]string{program}, strings.Fields(args)...)})
			if got := strings.Join(strings.Fields(out.Stdout), " "); err != nil || !strings.Contains(got, want) {
				t.Errorf("svcmux %s says %s, and not %s: %v %s", args, got, want, err, out.Stderr)
			}
		}
	}
}

// testRestart checks that a new process changes nothing.
func testRestart(t *testing.T, s *served, address string) {
	before, told := s.mux(t, "infra", "gateway-edge"), s.events(t)
	for _, want := range []string{
		"Gateway infra/edge: Warning UnsupportedProtocol listener http (8000/HTTP): protocol HTTP isn't supported: " +
			"use TCP or UDP",
		"ListenerSet shop/younger: Warning ListenerConflict listener tcp (9092/TCP): port 9092/TCP belongs to listener tcp " +
			"of ListenerSet shop/broker, which comes first: choose another number",
		"ListenerSet shop/broker: Warning NotAllowed allowedListeners of Gateway infra/edge doesn't admit ListenerSets of " +
			"namespace shop: ask its owner",
		"TCPRoute shop/admin: Warning RefNotPermitted Gateway infra/edge: backend infra/web: no ReferenceGrant in " +
			"namespace infra lets a TCPRoute of namespace shop refer to it",
		"TCPRoute shop/younger: Warning NotCarried ListenerSet shop/broker: listener tcp carries TCPRoute shop/broker, " +
			"which is older",
	} {
		if told[want] == 0 {
			t.Errorf("no Event says %s, but: %v", want, slices.Sorted(maps.Keys(told)))
		}
	}
	s.stop()
	s.stop = s.reconcile(t, "implementation")
	s.Apply(t, backend("shop", "broker", 7)) // a change that the new process has to carry
	s.reaches(t, address, 9092, "10.244.200.7:9090")
	if now := s.events(t); !maps.Equal(now, told) {
		t.Errorf("the Events before the restart: %v, and after: %v", told, now)
	}
	after := s.mux(t, "infra", "gateway-edge")
	if before.Generation != after.Generation || fmt.Sprint(before.Spec.Ports) != fmt.Sprint(after.Spec.Ports) {
		t.Errorf("the mux changed from %+v to %+v", before.Spec.Ports, after.Spec.Ports)
	}
}

// events counts the Events about objects of the Gateway API, by what they say.
func (s *served) events(t *testing.T) map[string]int {
	t.Helper()
	list, err := s.Client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for i := range list.Items {
		if e := &list.Items[i]; strings.HasPrefix(e.InvolvedObject.APIVersion, "gateway.networking.k8s.io/") {
			told[fmt.Sprintf("%s %s/%s: %s %s %s", e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name,
				e.Type, e.Reason, e.Message)] += int(e.Count)
		}
	}
	return told
}

func (s *served) mux(t *testing.T, namespace, name string) *corev1.Service {
	t.Helper()
	svc, err := s.Client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// testClassUnread checks that a Gateway keeps what it has, also over a restart, while its class is gone or has a bad
// template.
func testClassUnread(t *testing.T, s *served, address string) {
	const bad = `
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: mux},
  spec: {controllerName: svc-mux.nowake.ai/gateway,
  parametersRef: {group: "", kind: ConfigMap, namespace: infra, name: nothing}}}
`
	slices := func() string {
		return s.Kubectl(t, "get", "endpointslices", "--namespace=infra",
			"--selector=kubernetes.io/service-name=gateway-edge", "--output=name")
	}
	before := slices()
	for name, step := range map[string]func(){
		"it is gone": func() { s.Kubectl(t, "delete", "gatewayclass", "mux") },
		"its template is missing": func() {
			s.Kubectl(t, "delete", "gatewayclass", "mux", "--ignore-not-found")
			s.Apply(t, bad)
		},
	} {
		step()
		time.Sleep(3 * time.Second) // the process notices
		if after := slices(); after != before {
			t.Errorf("%s: the mux has the slices\n%s\nat once, and had\n%s", name, after, before)
		}
		s.stop()
		s.stop = s.reconcile(t, "implementation")
		time.Sleep(10 * time.Second) // the process deletes stray slices after five
		if after := slices(); after != before {
			t.Errorf("%s: the mux has the slices\n%s\nand had\n%s", name, after, before)
		}
		for port, backend := range map[int]string{80: "10.244.200.1:8080", 9092: "10.244.200.7:9090"} {
			if got, err := s.ask(t.Context(), address, port); got != backend {
				t.Errorf("%s: port %d leads to %q: %v", name, port, got, err)
			}
		}
	}
	s.Kubectl(t, "delete", "gatewayclass", "mux", "--ignore-not-found") // the steps come in any order
	s.Apply(t, class)
	s.Apply(t, backend("shop", "broker", 8))
	s.reaches(t, address, 9092, "10.244.200.8:9090")
	s.Apply(t, backend("shop", "broker", 7))
	s.reaches(t, address, 9092, "10.244.200.7:9090")
}

// testSetGoes checks that nothing stays of a ListenerSet that is gone: no slice on the mux, also if it went while no
// process ran, and no word in its route's status.
func testSetGoes(t *testing.T, s *served) {
	gone := func(listener string) {
		t.Helper()
		cluster.Eventually(t, "the slices of "+listener+" go", func(ctx context.Context) error {
			list, err := s.Client.DiscoveryV1().EndpointSlices("infra").List(ctx,
				metav1.ListOptions{LabelSelector: "svc-mux.nowake.ai/channel-name=" + listener})
			if err == nil && len(list.Items) > 0 {
				err = errors.New("they are there")
			}
			return err
		})
	}
	s.stop()
	s.Kubectl(t, "delete", "listenerset", "broker", "--namespace=shop")
	s.stop = s.reconcile(t, "implementation")
	gone("listenerset_broker_tcp")
	s.Apply(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: broker, namespace: shop}
spec: {parentRef: {namespace: infra, name: edge}, listeners: [{name: tcp, port: 9094, protocol: TCP}]}
`)
	s.Kubectl(t, "delete", "listenerset", "dns", "--namespace=shop")
	gone("listenerset_dns_udp")
	cluster.Eventually(t, "its route is told nothing", func(ctx context.Context) error {
		var r gatewayv1.UDPRoute
		if err := s.api.Get(ctx, types.NamespacedName{Namespace: "shop", Name: "dns"}, &r); err != nil {
			return err
		}
		if len(r.Status.Parents) > 0 {
			return fmt.Errorf("%+v", r.Status)
		}
		return nil
	})
}

func testRecreated(t *testing.T, s *served) {
	manifest := s.Kubectl(t, "get", "gateway", "edge", "--namespace=infra", "--output=jsonpath={.spec}")
	s.Kubectl(t, "delete", "gateway", "edge", "--namespace=infra")
	s.Apply(
		t, `{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "edge", `+
			`"namespace": "infra"}, "spec": `+manifest+`}`)
	cluster.Eventually(t, "the mux is the new Gateway's", func(ctx context.Context) error {
		var g gatewayv1.Gateway
		if err := s.api.Get(ctx, types.NamespacedName{Namespace: "infra", Name: "edge"}, &g); err != nil {
			return err
		}
		svc, err := s.Client.CoreV1().Services("infra").Get(ctx, "gateway-edge", metav1.GetOptions{})
		if err == nil && (metav1.GetControllerOf(svc) == nil || metav1.GetControllerOf(svc).UID != g.UID) {
			err = errors.New("it is another's")
		}
		return err
	})
	address := s.address(t, "infra", "edge")
	s.reaches(t, address, 80, "10.244.200.1:8080")
	s.reaches(t, address, 9094, "10.244.200.7:9090")
}

func testOtherClass(t *testing.T, s *served) {
	s.Apply(t, `
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: anybodys},
  spec: {controllerName: example.com/gateway}}
`)
	s.Kubectl(t, "patch", "gateway", "edge", "--namespace=infra", "--type=merge",
		`--patch={"spec":{"gatewayClassName":"anybodys"}}`)
	cluster.Eventually(t, "the mux goes", func(ctx context.Context) error {
		if _, err := s.Client.CoreV1().Services("infra").Get(ctx, "gateway-edge", metav1.GetOptions{}); err == nil {
			return errors.New("it is still there")
		}
		return nil
	})
}

func testUnserved(t *testing.T, s *served) {
	s.stop()
	s.Apply(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: lost, namespace: shop}
spec: {gatewayClassName: mux, listeners: [{name: web, port: 80, protocol: TCP}]}
`)
	s.serves = "svc-mux,infra"
	s.stop = s.reconcile(t, "implementation")
	conditions := func(ctx context.Context) ([]metav1.Condition, error) {
		var g gatewayv1.Gateway
		err := s.api.Get(ctx, named("shop", "lost"), &g)
		return g.Status.Conditions, err
	}
	says(t, "the Gateway", []string{"Accepted=False/MuxNotServed", "Programmed=False/Invalid"}, conditions)
	said, err := conditions(t.Context())
	if c := meta.FindStatusCondition(said, "Accepted"); err != nil ||
		!strings.Contains(c.Message, "serves Gateways in svc-mux, infra alone, and Gateway shop/lost isn't there") {
		t.Errorf("it says %+v: %v", c, err)
	}
	s.stop()
	s.serves = ""
	s.stop = s.reconcile(t, "implementation")
	says(t, "the Gateway", []string{"Accepted=True/Accepted", "Programmed=True/Programmed"}, conditions)
	s.Kubectl(t, "delete", "gateway", "lost", "--namespace=shop")
}

// testBothFeatures has a process that gives numbers and serves the Gateway, too. Packets show that it serves the
// ListenerSets that it makes.
func testBothFeatures(t *testing.T, s *served) {
	s.Apply(t, s.roles(t, "implementation", "allocator"))
	s.stop = s.reconcile(t, "implementation", "allocator")
	g := s.stage(t, "numbers")
	g.make(numbered("mux"))
	g.make(routeOf(numberedRoute("a", "auto"), web, one))
	g.want("set a/one: "+fine+" listeners=tcp", "set a/one/tcp: "+fine+" routes=1",
		"route a/r at one: Accepted=True/Accepted", "gateway: sets=1", "port 20001: a",
		"port 20000: nothing", "mux: ports=20000/TCP,20001/TCP")
	g.make(routeOf(numberedRoute("b", "5432"), admin, two))
	g.want("set b/two: "+fine, "route b/r at two: Accepted=True/Accepted", "gateway: sets=2", "port 5432: b-admin",
		"port 20001: a")
	g.remove(&gatewayv1.TCPRoute{}, "a/r")
	g.want("gateway: sets=1", "port 20001: nothing", "port 5432: b-admin", "mux: ports=20000/TCP,5432/TCP")
}

// numbered is a Gateway that gives numbers. Its own listener has the first one of the range.
func numbered(class string) string {
	return strings.Replace(gatewayOf(class, all, tcp("own", 20000)), "name: edge",
		"name: edge, annotations: {svc-mux.nowake.ai/port-range: 20000-20009}", 1)
}

// numberedRoute is the metadata of a route of a namespace that asks for a number.
func numberedRoute(namespace, number string) string {
	return fmt.Sprintf("name: r, namespace: $%s, annotations: {svc-mux.nowake.ai/gateway: $infra/edge, "+
		"svc-mux.nowake.ai/external-ports: '%s'}", namespace, number)
}
