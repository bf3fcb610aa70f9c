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
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// testRange gives a channel 4,000 numbers of each protocol. Its pods listen on the ports of the first and of the third
// number.
func testRange(t *testing.T, w *world, addresses []string) {
	w.Kubectl(t, "annotate", "--overwrite", "service", "mux", "--namespace="+namespace, prefix+"/max-ports=8010")
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: voice, namespace: %[1]s, labels: {app: voice}}
spec:
  containers:
  - {name: first, image: %[2]s, args: [serve], env: [{name: PORT, value: "5000"}]}
  - {name: third, image: %[2]s, args: [serve], env: [{name: PORT, value: "5002"}]}
---
apiVersion: v1
kind: Service
metadata: {name: voice, namespace: %[1]s, annotations: {%[3]s/external-ports: "rtp:10000-13999,tcp:10000-13999"}}
spec:
  type: LoadBalancer
  loadBalancerClass: %[3]s/mux.%[4]s
  allocateLoadBalancerNodePorts: false
  ipFamilyPolicy: PreferDualStack
  selector: {app: voice}
  ports: [{name: rtp, port: 5000, protocol: UDP}, {name: tcp, port: 5000}]
`, shop, cluster.PodImage, prefix, namespace))
	w.says(t, shop, "voice", "BackendsReady", metav1.ConditionTrue, "HasBackends")
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: thief, namespace: %[1]s, annotations: {%[2]s/external-ports: "x:13999"}}
spec:
  type: LoadBalancer
  loadBalancerClass: %[2]s/mux.%[3]s
  allocateLoadBalancerNodePorts: false
  selector: {app: web}
  ports: [{name: x, port: 80}]
`, shop, prefix, namespace))
	w.says(t, shop, "thief", "Accepted", metav1.ConditionFalse, "MuxPortConflict")
	if mux := w.service(t, namespace, "mux"); len(mux.Spec.Ports) > 3 {
		t.Errorf("the mux has %d ports: ranges are in its annotation", len(mux.Spec.Ports))
	}
	for _, ip := range addresses {
		for _, number := range []string{"10000", "10002"} {
			where := net.JoinHostPort(ip, number)
			w.answers(t, w.Outside(), ip, number)
			w.answers(t, w.Inside(), ip, number)
			cluster.Eventually(t, where+" answers over UDP", func(ctx context.Context) error {
				return askUDP(ctx, w.Outside(), where)
			})
		}
		for _, number := range []string{"10001", "13999"} { // no container listens there
			_, err := ask(t.Context(), w.Outside(), net.JoinHostPort(ip, number))
			if err == nil || !strings.Contains(err.Error(), syscall.ECONNREFUSED.Error()) {
				t.Errorf("%s: %v, want a refusal by the pod", net.JoinHostPort(ip, number), err)
			}
		}
	}
	carrier, err := w.carrier(t.Context(), addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	shown := w.metrics(t, carrier)
	for _, what := range []string{"connections", "packets", "bytes"} {
		for _, protocol := range []string{"TCP", "UDP"} {
			line := fmt.Sprintf(
				`svc_lb_mux_gateway_%s_total{family="IPv4",mux="mux",mux_namespace=%q,port="10000-13999",protocol=%q} `, what,
				namespace, protocol)
			if !strings.Contains(shown, line) || strings.Contains(shown, line+"0\n") {
				t.Errorf("the agent of %s doesn't count %s", carrier, line)
			}
		}
	}
	w.Kubectl(t, "delete", "service/voice", "service/thief", "pod/voice", "--namespace="+shop, "--grace-period=1")
	cluster.Eventually(t, "the range leaves the mux", func(context.Context) error {
		if left := w.service(t, namespace, "mux").Annotations[prefix+"/ranges"]; left != "" {
			return errors.New(left)
		}
		return nil
	})
}

// metrics returns the metrics of a node's agent.
func (w *world) metrics(t *testing.T, node string) string {
	t.Helper()
	at := slices.IndexFunc(w.Nodes(), func(n *cluster.Node) bool { return n.Name == node })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+net.JoinHostPort(w.Nodes()[at].IP, "8082")+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := w.Outside().HTTP().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// askUDP sends a datagram and waits for the answer.
func askUDP(ctx context.Context, from cluster.Client, address string) error {
	connection, err := from.Dial(ctx, "udp", address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := connection.Write([]byte("?")); err != nil {
		return err
	}
	_, err = connection.Read(make([]byte, 100))
	return err
}
