package gateways

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// TestGateways installs the chart once. Each part begins where the one before ended.
func TestGateways(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT COVERED with -short: gateways on real nodes")
	}
	w := start(t, cluster.Audit())
	product.SeparateStates(t, w.Cluster, pool)
	w.app(t, "web", "http:auto")
	w.app(t, "api", "http:443")
	w.Kubectl(t, "patch", "service", "mux", "--namespace="+namespace,
		`--patch={"spec":{"ipFamilyPolicy":"PreferDualStack"}}`)
	var addresses []string
	cluster.Eventually(t, "the mux has an address of each family", func(context.Context) error {
		if addresses = w.addresses(t, namespace, "mux"); len(addresses) < map[bool]int{false: 1, true: 2}[w.dualStack] {
			return fmt.Errorf("only %v", addresses)
		}
		return nil
	})
	for _, part := range []struct {
		name string
		run  func(*testing.T, *world, []string)
	}{
		{"clients reach both channels in every address family", testReach},
		{"a channel has a range of numbers", testRange},
		{"the command line tells who carries the mux", testCommandLine},
		{"the console shows what gateways count", testTraffic},
		{"a ready backend that doesn't answer gets no connection", testProbes},
		{"nothing else of the machine answers at the address", testGuard},
		{"agents restart, and a handover breaks only open connections", testAgentRestart},
		{"the carrier's node dies and another one takes the address", testDeadNode},
		{"mistakes are conditions of the mux", testMistakes},
		{"policies limit stolen tokens", testStolenTokens},
		{"the chart grants the rights that are used and no other", testRights},
		{"uninstall leaves nothing on the machines", testUninstall},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, w, addresses) }) {
			return
		}
	}
}

func testReach(t *testing.T, w *world, addresses []string) {
	w.says(t, namespace, "mux", "Addressed", metav1.ConditionTrue, "Addressed")
	w.says(t, namespace, "mux", "Carried", metav1.ConditionTrue, "Carried")
	for _, ip := range addresses {
		for _, port := range []string{"20000", "443"} {
			for name, from := range map[string]cluster.Client{"outside": w.Outside(), "the control plane": w.Inside(),
				"node-1": w.On(w.Nodes()[0]), "node-2": w.On(w.Nodes()[1])} {
				t.Run(fmt.Sprintf("%s from %s", net.JoinHostPort(ip, port), name), func(t *testing.T) {
					w.answers(t, from, ip, port)
				})
			}
		}
	}
	seen := map[string]bool{}
	cluster.Eventually(t, "both pods answer", func(ctx context.Context) error {
		pod, err := ask(ctx, w.Outside(), net.JoinHostPort(addresses[0], "20000"))
		if seen[pod] = err == nil; len(seen) < 2 {
			return fmt.Errorf("only %v, %w", seen, err)
		}
		return nil
	})
}

// testGuard checks that the agent's own port for probes, which listens on every address of the machine, doesn't answer
// at a mux's address.
func testGuard(t *testing.T, w *world, addresses []string) {
	carrier, err := w.carrier(t.Context(), addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range w.Nodes() {
		if node.Name == carrier {
			w.answersProbe(t, node.IP)
		}
	}
	connection, err := w.Outside().Dial(t.Context(), "tcp", net.JoinHostPort(addresses[0], "8082"))
	if err == nil {
		_ = connection.Close()
		t.Errorf("the agent's own port answers at the mux's address")
	}
}

func (w *world) answersProbe(t *testing.T, ip string) {
	t.Helper()
	connection, err := w.Outside().Dial(t.Context(), "tcp", net.JoinHostPort(ip, "8082"))
	if err != nil {
		t.Fatalf("the agent's port doesn't answer at the node's address either, so this shows nothing: %v", err)
	}
	_ = connection.Close()
}

// asking sends requests until stop is called, and counts them.
type asking struct{ asked, failed atomic.Int64 }

func (w *world) keepAsking(t *testing.T, address string) (counts *asking, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	counts, done := &asking{}, make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := ask(ctx, w.Outside(), address); err != nil && ctx.Err() == nil {
				counts.failed.Add(1)
			}
			counts.asked.Add(1)
		}
	}()
	return counts, func() { cancel(); <-done }
}

// testAgentRestart restarts both agents, one after the other. With the return path node, a connection that is open
// during a handover breaks. The asker has one connection at a time, and the address moves at most three times.
func testAgentRestart(t *testing.T, w *world, addresses []string) {
	counts, stop := w.keepAsking(t, net.JoinHostPort(addresses[0], "20000"))
	w.Kubectl(t, "rollout", "restart", "daemonset/svc-mux-gateway-"+pool, "--namespace="+namespace)
	w.Kubectl(t, "rollout", "status", "daemonset/svc-mux-gateway-"+pool, "--namespace="+namespace, "--timeout=180s")
	stop()
	if asked, failed := counts.asked.Load(), counts.failed.Load(); failed > 3 || asked < 20 {
		t.Errorf("%d of %d requests failed while the agents restarted", failed, asked)
	} else {
		t.Logf("%d of %d requests failed", failed, asked)
	}
}

func testDeadNode(t *testing.T, w *world, addresses []string) {
	dead, err := w.carrier(t.Context(), addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	w.link(t, dead, "down")
	died := time.Now()
	cluster.Eventually(t, "another node takes the address", func(ctx context.Context) error {
		within, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		for _, node := range w.Nodes() {
			if node.Name == dead {
				continue
			}
			out, err := w.Run(within, cluster.Program{Net: node.Name,
				Args: []string{"/bin/sh", "-c", "ip -brief address show dev eth0"}})
			if err == nil && strings.Contains(out.Stdout, addresses[0]+"/") {
				return nil
			}
		}
		return errors.New("no other node has it")
	})
	t.Logf("the address moved within %s", time.Since(died).Round(10*time.Millisecond))
	// One of the two pods is on the dead node, and Kubernetes knows that only after 40 s.
	w.answers(t, w.Outside(), addresses[0], "20000")
	w.link(t, dead, "up")
	cluster.Eventually(t, "one node has the address again", func(ctx context.Context) error {
		_, err := w.carrier(ctx, addresses[0])
		return err
	})
	w.answers(t, w.Outside(), addresses[0], "20000")
	w.Kubectl(t, "wait", "--for=condition=Ready", "node/"+dead, "--timeout=120s")
}

func (w *world) link(t *testing.T, node, state string) {
	t.Helper()
	if _, err := w.Run(t.Context(), cluster.Program{
		Args: []string{"/bin/sh", "-c", "ip link set " + node + " " + state}}); err != nil {
		t.Fatal(err)
	}
}

func testMistakes(t *testing.T, w *world, addresses []string) {
	mux := func(name, pool, address string) {
		request := ""
		if address != "" {
			request = fmt.Sprintf(", %s/address: %q", prefix, address)
		}
		w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s,
			annotations: {%[3]s/multiplexer: "true"%[5]s}},
			spec: {type: LoadBalancer, loadBalancerClass: gateway.%[3]s/%[4]s, allocateLoadBalancerNodePorts: false,
			ports: [{name: placeholder, port: 101}]}}`, name, shop, prefix, pool, request))
	}
	mux("elsewhere", "nowhere", "")
	mux("outside", pool, "198.51.100.7")
	mux("taken", pool, addresses[0])
	mux("second", pool, "172.31.0.103")
	w.says(t, shop, "elsewhere", "Addressed", metav1.ConditionFalse, "PoolUnknown")
	w.says(t, shop, "outside", "Addressed", metav1.ConditionFalse, "AddressOutside")
	w.says(t, shop, "taken", "Addressed", metav1.ConditionFalse, "AddressTaken")
	for _, address := range []string{addresses[0], "198.51.100.7"} { // the second time, the Event's count is patched
		w.Kubectl(t, "annotate", "--overwrite", "service", "outside", "--namespace="+shop, prefix+"/address="+address)
		w.says(t, shop, "outside", "Addressed", metav1.ConditionFalse,
			map[bool]string{true: "AddressTaken", false: "AddressOutside"}[address == addresses[0]])
	}
	if got := w.addresses(t, shop, "second"); got[0] != "172.31.0.103" {
		t.Errorf("the mux that asks for 172.31.0.103 has %v", got)
	}
	for _, name := range []string{"elsewhere", "outside", "taken", "second"} {
		w.Kubectl(t, "delete", "service", name, "--namespace="+shop)
	}
}

// testStolenTokens sends requests that the roles allow and the policies deny.
func testStolenTokens(t *testing.T, w *world, _ []string) {
	controller, merge := w.as(t, "svc-mux-gateways", ""), types.MergePatchType
	onNode1, anywhere := w.as(t, "svc-mux-gateway-"+pool, "node-1"), w.as(t, "svc-mux-gateway-"+pool, "")
	lease := func(client kubernetes.Interface, node string) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error { // its agent renews it meanwhile
			_, err := client.CoordinationV1().Leases(namespace).Update(t.Context(), w.lease(t, node), metav1.UpdateOptions{})
			return err
		})
	}
	for name, test := range map[string]struct {
		send func() error
		want string // a part of the denial; empty if the request is allowed
	}{
		"the controller shows an address on a channel": {func() error {
			_, err := controller.CoreV1().Services(shop).Patch(t.Context(), "web", merge,
				[]byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.66"}]}}}`), metav1.PatchOptions{}, "status")
			return err
		}, "it writes the status of muxes"},
		"the controller changes a setting of a mux": {func() error {
			_, err := controller.CoreV1().Services(namespace).Patch(t.Context(), "mux", merge,
				[]byte(`{"metadata":{"annotations":{"`+prefix+`/port-range":"1-65535"}}}`), metav1.PatchOptions{}, "status")
			return err
		}, "may not write labels or the annotations " + prefix + "/port-range"},
		"the controller writes a ledger": {func() error {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mux-port-allocations-2"}}
			_, err := controller.CoreV1().ConfigMaps(namespace).Create(t.Context(), cm, metav1.CreateOptions{})
			return err
		}, "it writes claims"},
		"the controller tells of a pod": {func() error { return tell(t, controller, "Pod", "svc-lb-mux-gateway-controller") },
			"may not CREATE an Event about Pod x"},
		"the controller tells under another's name": {func() error { return tell(t, controller, "Service", "kubelet") },
			"kubelet reports, of type Warning"},
		"the controller tells of a Service": {
			func() error { return tell(t, controller, "Service", "svc-lb-mux-gateway-controller") }, ""},
		"an agent writes the Lease of its node": {func() error { return lease(onNode1, "node-1") }, ""},
		"an agent writes the Lease of another node": {func() error { return lease(onNode1, "node-2") },
			`the agent on node "node-1" may not`},
		"a token that is of no pod": {func() error { return lease(anywhere, "node-1") },
			`the agent on node "" may not`},
	} {
		t.Run(name, func(t *testing.T) {
			switch err := test.send(); {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want a denial with %q", err, test.want)
			}
		})
	}
}

// tell sends an Event about an object.
func tell(t *testing.T, client kubernetes.Interface, kind, by string) error {
	t.Helper()
	_, err := client.CoreV1().Events(namespace).Create(t.Context(),
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "told-"},
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: "x"},
			Type:           corev1.EventTypeWarning,
			Reason:         "Told", Message: "x", Source: corev1.EventSource{Component: by}}, metav1.CreateOptions{})
	return err
}

// as returns a client of an account of the release. The API server writes the node of a pod's token as node.
func (w *world) as(t *testing.T, account, node string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(w.Config)
	config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + account
	if node != "" {
		config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (w *world) lease(t *testing.T, node string) *coordinationv1.Lease {
	t.Helper()
	lease, err := w.Client.CoordinationV1().Leases(namespace).Get(t.Context(), "svc-lb-mux-gateway-"+node,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func testRights(t *testing.T, w *world, _ []string) {
	// The audit log has a watch once it ends.
	w.Kubectl(t, "rollout", "restart", "deployment/svc-mux-gateways", "daemonset/svc-mux-gateway-"+pool,
		"--namespace="+namespace)
	for _, workload := range []string{"deployment/svc-mux-gateways", "daemonset/svc-mux-gateway-" + pool} {
		w.Kubectl(t, "rollout", "status", workload, "--namespace="+namespace, "--timeout=180s")
	}
	chart, err := product.Chart()
	if err != nil {
		t.Fatal(err)
	}
	manifests := w.Helm(t, append([]string{"template", product.Release, chart, "--namespace=" + namespace,
		"--show-only=templates/gateways-roles.yaml"}, values(w.dualStack)...)...)
	for account, roles := range map[string][]string{
		"svc-mux-gateways":        {"svc-mux.svc-mux.gateways", "svc-mux-gateways"},
		"svc-mux-gateway-" + pool: {"svc-mux.svc-mux.gateway-agents", "svc-mux-gateway-" + pool},
	} {
		t.Run(account, func(t *testing.T) {
			var own []string
			for text := range strings.SplitSeq(manifests, "\n---") {
				for _, role := range roles {
					if strings.Contains(text, "\n  name: "+role+"\n") {
						own = append(own, text)
					}
				}
			}
			product.CompareRights(t, w.Cluster, "system:serviceaccount:"+namespace+":"+account,
				product.Rights(t, strings.Join(own, "\n---")))
		})
	}
}

// testUninstall removes the release as docs/gateways.md says: first an upgrade with gateways.agent.goodbye, then the
// uninstall.
func testUninstall(t *testing.T, w *world, addresses []string) {
	if out, err := (product.Helm{Release: product.Release, Namespace: namespace,
		Args: append(values(w.dualStack), "--set=gateways.agent.goodbye=true")}).Install(t.Context(), w.Cluster); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// helm ignores the last agent
	w.Kubectl(t, "rollout", "status", "daemonset/svc-mux-gateway-"+pool, "--namespace="+namespace, "--timeout=180s")
	product.Uninstall(t, w.Cluster)
	cluster.Eventually(t, "no node has tables, addresses or state of a gateway", func(ctx context.Context) error {
		for _, node := range w.Nodes() {
			out, err := w.Run(ctx, cluster.Program{Net: node.Name, Args: []string{"/bin/sh", "-c",
				"nft list tables; ip -brief address show dev eth0; ls /var/lib/svc-lb-mux-gateway 2>/dev/null; true"}})
			if err != nil {
				return err
			}
			for _, left := range append([]string{"svc-lb-mux", "svc_lb_mux", "claims"}, addresses...) {
				if strings.Contains(out.Stdout, left) {
					return fmt.Errorf("%s has %q still:\n%s", node.Name, left, out.Stdout)
				}
			}
		}
		return nil
	})
	if _, err := w.Client.CoreV1().ConfigMaps(namespace).
		Get(t.Context(), "svc-lb-mux-pool-"+pool, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		t.Error("the claims are gone: a reinstall would give the mux another address")
	}
}
