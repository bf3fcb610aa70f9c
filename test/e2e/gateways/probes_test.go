package gateways

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// nobody is an address of the nodes' network that no machine has.
const nobody = "172.31.0.250"

// testProbes makes a channel with two backends that are ready. One of them doesn't exist, as if its node had just died.
func testProbes(t *testing.T, w *world, addresses []string) {
	pods, err := w.Client.CoreV1().Pods(shop).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {namespace: %[1]s, name: half, annotations: {%[2]s/external-ports: "http:8081"}}
spec: {type: LoadBalancer, loadBalancerClass: %[2]s/mux.%[5]s, allocateLoadBalancerNodePorts: false,
  ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: %[1]s, name: half-1, labels: {kubernetes.io/service-name: half}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [%[3]q]}, {addresses: [%[4]q]}]
`, shop, prefix, pods.Items[0].Status.PodIP, nobody, namespace))
	cluster.Eventually(t, "the claims say that the backend is down", func(ctx context.Context) error {
		claims, err := w.Client.CoreV1().ConfigMaps(namespace).Get(ctx, "svc-lb-mux-pool-"+pool, metav1.GetOptions{})
		if err == nil && !strings.Contains(claims.Data["claims.json"], `"down":["`+nobody+`:8080"]`) {
			err = errors.New(claims.Data["claims.json"])
		}
		return err
	})
	cluster.Eventually(t, "thirty connections in a row are answered", func(ctx context.Context) error {
		for i := range 30 {
			if _, err := ask(ctx, w.Outside(), addresses[0]+":8081"); err != nil {
				return fmt.Errorf("the %d. one: %w", i+1, err)
			}
		}
		return nil
	})
	w.Kubectl(t, "delete", "service/half", "--namespace="+shop)
}
