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

// syncs is how often kube-proxy programs all Services again: fairSyncs times to show that no channel takes the other's
// traffic, and at most syncs times until one does. Each time, kube-proxy picks one of two Services that share an
// address and a port.
const fairSyncs, syncs = 4, 10

// testNoHijack uses two channels. Channel a has 443 on the mux. Channel b has port 443 itself, and 20001 on the mux.
// Both show the mux's address, so b seems to have 443 at that address. Requests to 443 must still reach a, from outside
// and from a pod.
func testNoHijack(t *testing.T, w *world) {
	w.mux(t, "fair", annotation("port-range", "20000-20099"))
	w.Apply(t, app("a", 1)+app("b", 1)+app("asker", 1))
	w.Apply(t, channel("a", "fair", "a", "https:443", "{name: https, port: 443, targetPort: 8080}")+
		channel("b", "fair", "b", "https:20001", "{name: https, port: 443, targetPort: 8080}"))
	w.rolledOut(t, "a", "b", "asker")
	for range fairSyncs {
		w.programAnew(t)
		for _, wrong := range w.hijacked(t) {
			t.Error(wrong)
		}
	}
}

// hijacked sends requests to both channels, from outside and from a pod. It returns errors for answers of the other's
// pod, and for missing answers.
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

// programAnew restarts each kube-proxy, which then programs all Services at once in its own order.
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

// synced waits until kube-proxy works on both nodes and on the control plane: a recreated Service answers.
func (w *world) synced(t *testing.T) {
	t.Helper()
	w.Kubectl(t, "delete", "service", "probe", "--namespace="+shop, "--ignore-not-found")
	w.Apply(
		t, fmt.Sprintf(
			`{apiVersion: v1, kind: Service, metadata: {name: probe, namespace: %s}, spec: {selector: {app: asker}, `+
				`ports: [%s]}}`, shop, onePort))
	ip := w.service(t, shop, "probe").Spec.ClusterIP
	w.answers(t, w.Inside(), packets.HTTP, at(ip, 80), ofApp("asker"))
	for _, node := range w.Nodes() {
		w.answers(t, w.On(node), packets.HTTP, at(ip, 80), ofApp("asker"))
	}
}

// testHijack continues testNoHijack, and shows what ipMode Proxy prevents: if b's address has mode VIP, b's pods get
// a's traffic. The reconcilers are stopped first, because they would correct the mode at once.
func testHijack(t *testing.T, w *world) {
	w.Kubectl(t, "scale", "deployment/svc-mux", "--replicas=0", "--namespace=svc-mux")
	w.Kubectl(t, "wait", "--for=delete", "pod", "--selector=app.kubernetes.io/name=svc-mux", "--namespace=svc-mux",
		"--timeout=60s")
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
	t.Errorf("in %d syncs, b never got a's traffic: kube-proxy has changed, or this test checks the wrong address", syncs)
}

// showAsOwn sets a channel's address to mode VIP, as a provider does whose load balancer keeps the destination address.
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
