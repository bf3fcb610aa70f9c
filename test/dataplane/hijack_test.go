package dataplane

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/dataplane/packets"
)

// syncs is how often kube-proxy is made to program everything anew: which of two Services with one address and one port it
// takes is for it to say at each of them.
const syncs = 10

// testNoHijack: a has 443 on the mux; b has 443 of its own, and 20001 on the mux. Both show the mux's address, so b seems to
// have 443 at that address, too: a's answer must be a's all the same, from outside and from inside of a pod.
func testNoHijack(t *testing.T, w *world) {
	w.mux(t, "fair", annotation("port-range", "20000-20099"))
	w.Apply(t, app("a", 1)+app("b", 1)+app("asker", 1))
	w.Apply(t, channel("a", "fair", "a", "https:443", "{name: https, port: 443, targetPort: 8080}")+
		channel("b", "fair", "b", "https:20001", "{name: https, port: 443, targetPort: 8080}"))
	w.rolledOut(t, "a", "b", "asker")
	for range syncs {
		w.programAnew(t)
		for _, wrong := range w.hijacked(t) {
			t.Error(wrong)
		}
	}
}

// hijacked asks for both, from inside and outside, and returns what was answered by the other's pod, or by none.
func (w *world) hijacked(t *testing.T) (wrong []error) {
	t.Helper()
	for name, public := range map[string]int{"a": 443, "b": 20001} {
		for _, ip := range w.addresses(t, edge, "fair") {
			address := at(ip, public)
			for range 3 {
				if err := w.soonAnswers(t.Context(), address, ofApp(name)); err != nil {
					wrong = append(wrong, fmt.Errorf("from outside: %w", err))
				}
			}
			said := w.Kubectl(t, "exec", "deploy/asker", "--namespace="+shop, "--", "/pod", "ask", "3", "http://"+address+"/")
			for answer := range strings.Lines(said) {
				if answer = strings.TrimSpace(answer); !ofApp(name)(answer) {
					wrong = append(wrong, fmt.Errorf("from a pod: %w", wrongAnswer{address, answer}))
				}
			}
		}
	}
	return wrong
}

// programAnew restarts each kube-proxy: it then programs all Services at once, in an order of its own.
func (w *world) programAnew(t *testing.T) {
	t.Helper()
	for _, name := range []string{"kube-proxy", "kube-proxy.node-1", "kube-proxy.node-2"} {
		proxy := w.Component(name)
		if err := proxy.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
	}
	w.synced(t)
}

// synced waits until kube-proxy programs on both nodes and on the control plane: a Service that is made anew answers.
func (w *world) synced(t *testing.T) {
	t.Helper()
	w.Kubectl(t, "delete", "service", "probe", "--namespace="+shop, "--ignore-not-found")
	w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: probe, namespace: %s}, spec: {selector: {app: asker}, ports: [%s]}}`, shop, onePort))
	ip := w.service(t, shop, "probe").Spec.ClusterIP
	w.answers(t, w.Inside(), packets.HTTP, at(ip, 80), ofApp("asker"))
	for _, node := range w.Nodes() {
		w.answers(t, w.On(node), packets.HTTP, at(ip, 80), ofApp("asker"))
	}
}

// testHijack, which goes on from there, shows what ipMode Proxy is for: with b's address as a load balancer's own, b's pods are sent what is a's. The
// reconcilers are sent home first, since they would put it right at once.
func testHijack(t *testing.T, w *world) {
	w.Kubectl(t, "scale", "deployment/svc-mux", "--replicas=0", "--namespace=svc-mux")
	w.Kubectl(t, "wait", "--for=delete", "pod", "--selector=app.kubernetes.io/name=svc-mux", "--namespace=svc-mux", "--timeout=60s")
	w.showAsOwn(t, "b")
	for i := range syncs {
		w.programAnew(t)
		for _, err := range w.hijacked(t) {
			var wrong wrongAnswer
			if errors.As(err, &wrong) && strings.HasSuffix(wrong.address, ":443") && ofApp("b")(wrong.by) {
				t.Logf("at the %d. sync: %s", i+1, err)
				return
			}
		}
	}
	t.Errorf("in %d syncs, what is a's was never answered by b: either kube-proxy has changed, or this test looks in the wrong place", syncs)
}

// showAsOwn says of a channel what a provider says of a load balancer that hands packets on as they are: VIP.
func (w *world) showAsOwn(t *testing.T, name string) {
	t.Helper()
	svc := w.service(t, shop, name)
	vip := corev1.LoadBalancerIPModeVIP
	for i := range svc.Status.LoadBalancer.Ingress {
		svc.Status.LoadBalancer.Ingress[i].IPMode = &vip
	}
	if _, err := w.Client.CoreV1().Services(shop).UpdateStatus(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
