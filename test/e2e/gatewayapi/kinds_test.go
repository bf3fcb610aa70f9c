package gatewayapi

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

// TestListenerSetKindGoes deletes the CRD of ListenerSets while routes have numbers, and with it all ListenerSets. The
// routes keep their numbers, and get their ListenerSets back with the CRD.
func TestListenerSetKindGoes(t *testing.T) {
	w, _, stop := begin(t)
	t.Cleanup(stop)
	w.gateway(t, "edge", "")
	for name, number := range map[string]string{"a": "20005", "b": "20003"} {
		w.route(t, "edge", "shop", name, number)
	}
	w.has(t, "shop", "a", 20005)
	w.has(t, "shop", "b", 20003)

	w.Kubectl(t, "delete", "crd", "listenersets.gateway.networking.k8s.io", "--timeout=60s")
	// What the API server says while the kind is terminating may stay until the next try.
	cluster.Eventually(t, "each route is told", func(ctx context.Context) error {
		for _, name := range []string{"a", "b"} {
			if _, why := w.programmed(ctx, "shop", name); !strings.Contains(strings.ToLower(why), "listenerset") {
				return fmt.Errorf("%s is told %q", name, why)
			}
		}
		return nil
	})
	w.route(t, "edge", "shop", "c", "auto")
	for name, number := range map[string]string{"a": "20005", "b": "20003"} {
		var route gatewayv1.TCPRoute
		if err := w.api.Get(t.Context(), named("shop", name), &route); err != nil {
			t.Fatal(err)
		}
		if route.Annotations[numbers] != number {
			t.Errorf("%s shows number %q, want %s", name, route.Annotations[numbers], number)
		}
	}
	var ledger corev1.ConfigMap
	if err := w.api.Get(t.Context(), named("edge", "gateway-edge-route-allocations"), &ledger); err != nil {
		t.Fatal(err)
	}
	if text := ledger.Data["allocations.json"]; strings.Contains(text, "releasing") || !strings.Contains(text, "20005") ||
		!strings.Contains(text, "20003") {
		t.Errorf("the ledger is %s", text)
	}

	product.InstallGatewayAPI(t, w.Cluster)
	w.has(t, "shop", "a", 20005)
	w.has(t, "shop", "b", 20003)
	w.has(t, "shop", "c", 20000)
}

// programmed returns our condition Programmed of a route.
func (w *world) programmed(ctx context.Context, namespace, name string) (status, why string) {
	var route gatewayv1.TCPRoute
	if err := w.api.Get(ctx, named(namespace, name), &route); err != nil {
		return "unknown", err.Error()
	}
	for _, parent := range route.Status.Parents {
		for _, condition := range parent.Conditions {
			if parent.ControllerName == prefix+"/allocator" && condition.Type == prefix+"/Programmed" {
				return string(condition.Status), condition.Reason + ": " + condition.Message
			}
		}
	}
	return "unknown", "nothing"
}
