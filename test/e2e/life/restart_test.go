package life

import (
	"context"
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
