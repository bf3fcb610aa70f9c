package life

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// testRestart replaces every pod of the release.
func testRestart(t *testing.T, w *world) {
	traffic := w.ask(t, w.urls(t)...)
	held, led := w.holds(t, product.Namespace, "mux", ports()...), w.leads(t, product.Namespace, "mux", muxNames()...)
	begin := time.Now()
	l := w.underLoad(t)
	w.Kubectl(t, "rollout", "restart", "deployment/svc-mux", "deployment/svc-mux-webhook",
		"--namespace="+product.Namespace)
	for _, name := range []string{"svc-mux-webhook", "svc-mux"} {
		w.Kubectl(t, "rollout", "status", "deployment/"+name, "--namespace="+product.Namespace, "--timeout=120s")
	}
	// Pods that were told to end serve reviews for a while longer.
	cluster.Eventually(t, "the old pods are gone", func(ctx context.Context) error {
		pods, err := w.Client.CoreV1().Pods(product.Namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(pods.Items) != 3 {
			err = fmt.Errorf("%d pods exist", len(pods.Items))
		}
		return err
	})
	l.end(t, w, begin)
	traffic.end(t)
	held.end(t)
	led.end(t)
}

// testRotation lets cert-manager renew the certificate, and waits until the kubelet has updated every pod's volume.
func testRotation(t *testing.T, w *world) {
	before := w.serials(t)
	begin := time.Now()
	l := w.underLoad(t)
	w.Kubectl(t, "patch", "certificate", "svc-mux-webhook", "--namespace="+product.Namespace, "--subresource=status",
		"--type=json",
		`--patch=[{"op":"add","path":"/status/conditions/-",
			"value":{"type":"Issuing","status":"True","reason":"ManuallyTriggered",
		"message":"a test","lastTransitionTime":"`+time.Now().UTC().Format(time.RFC3339)+`"}}]`)
	cluster.Eventually(t, "each pod serves another certificate", func(context.Context) error {
		for pod, serial := range w.serials(t) {
			if serial == before[pod] {
				return errors.New(pod + " still serves the old certificate")
			}
		}
		return nil
	})
	t.Logf("every pod served the new certificate after %s", time.Since(begin).Round(time.Second))
	l.end(t, w, begin)
	w.refuses(t, prefix+"/mux")
}

// serials returns the serial number of the certificate that each webhook pod serves.
func (w *world) serials(t *testing.T) map[string]string {
	t.Helper()
	pods, err := w.Client.CoreV1().Pods(product.Namespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=svc-mux-webhook"})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	all := map[string]string{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		conn, err := w.Inside().Dial(t.Context(), "tcp", pod.Status.PodIP+":9443")
		if err != nil {
			t.Fatal(err)
		}
		client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // only the serial number matters
		if err := client.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		all[pod.Name] = client.ConnectionState().PeerCertificates[0].SerialNumber.String()
		_ = client.Close()
	}
	return all
}
