package life

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/product"
)

const (
	finalizer  = prefix + "/finalizer"
	kopfMemory = "kopf.zalando.org/last-handled-configuration"
)

// held is a port that a channel of the original has.
type held struct {
	channel, external string
	public            int32
	source            string
}

// estate returns the original's numbers: one that it picked, which isn't the lowest, and one that was requested.
func estate() []held {
	return []held{{"api", "auto", 20007, "auto"}, {"site", "8080", 8080, "static"}}
}

// muxName returns the original's name for the port on the mux.
func (h held) muxName() string {
	sum := sha256.Sum256([]byte(shop + "/" + h.channel + "/http"))
	return hex.EncodeToString(sum[:])[:7]
}

// leave creates what the original would have left: ports on the mux with their backends as Endpoints, which Kubernetes
// mirrors, a state, annotations and finalizers.
func (w *world) leave(t *testing.T) {
	t.Helper()
	ip := w.address(t, product.Namespace, "mux")
	for _, h := range estate() {
		w.Apply(t, channel(h.channel, prefix+"/mux", h.external))
		w.patch(t, shop, h.channel, map[string]any{"metadata": map[string]any{"finalizers": []string{finalizer},
			"annotations": map[string]any{prefix + "/ports": fmt.Sprintf("http:80->%d", h.public), kopfMemory: "{}"}}})
		w.patch(t, shop, h.channel, map[string]any{"status": map[string]any{"loadBalancer": map[string]any{
			"ingress": []any{map[string]any{"ip": ip}}}}}, "status")
	}
	w.leaveState(t)
	var ports []any
	for _, h := range estate() {
		ports = append(ports, map[string]any{"name": h.muxName(), "port": h.public, "protocol": "TCP"})
	}
	w.patch(t, product.Namespace, "mux", map[string]any{
		"metadata": map[string]any{"finalizers": []string{finalizer}, "annotations": map[string]any{
			prefix + "/channels": `["shop/site","shop/api"]`, prefix + "/summary": "2 channel(s) | 2 port(s) | 2 pod(s)",
			kopfMemory: "{}"}},
		"spec": map[string]any{"ports": ports}})
	w.leaveEndpoints(t)
}

func (w *world) leaveState(t *testing.T) {
	t.Helper()
	claims, allocations := []any{}, []any{}
	for _, h := range estate() {
		claim := map[string]any{"namespace": shop, "service": h.channel, "portName": "http", "protocol": "TCP",
			"channelPort": 80, "muxPort": h.public, "port": h.public, "source": h.source}
		claims = append(claims, claim)
		if h.source == "auto" {
			allocations = append(allocations, claim)
		}
	}
	text, err := json.Marshal(map[string]any{"schemaVersion": 1,
		"mux":        map[string]string{"namespace": product.Namespace, "name": "mux"},
		"portClaims": claims, "allocations": allocations})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Client.CoreV1().ConfigMaps(product.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "mux-port-allocations",
			Labels:      map[string]string{"app.kubernetes.io/name": "svc-lb-mux", "app.kubernetes.io/component": "mux-state"},
			Annotations: map[string]string{prefix + "/mux": product.Namespace + "/mux"}},
		Data: map[string]string{"allocations.json": string(text)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

//nolint:staticcheck // deprecated, and what the original writes
func (w *world) leaveEndpoints(t *testing.T) {
	t.Helper()
	pods, err := w.Client.CoreV1().Pods(shop).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("the app has no pods: %v", err)
	}
	endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "mux",
		Labels: map[string]string{"app.kubernetes.io/managed-by": "svc-lb-mux",
			"app.kubernetes.io/component": "mux-endpoints"},
		Annotations: map[string]string{prefix + "/managed": "true", prefix + "/mux": product.Namespace + "/mux"}}}
	for _, h := range estate() {
		endpoints.Subsets = append(endpoints.Subsets, corev1.EndpointSubset{
			Addresses: []corev1.EndpointAddress{{IP: pods.Items[0].Status.PodIP}},
			Ports:     []corev1.EndpointPort{{Name: h.muxName(), Port: 8080, Protocol: corev1.ProtocolTCP}},
		})
	}
	if _, err := w.Client.CoreV1().Endpoints(product.Namespace).
		Create(t.Context(), endpoints, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) patch(t *testing.T, namespace, service string, patch map[string]any, subresources ...string) {
	t.Helper()
	text, err := json.Marshal(patch)
	if err == nil {
		_, err = w.Client.CoreV1().Services(namespace).Patch(t.Context(), service, types.MergePatchType, text,
			metav1.PatchOptions{}, subresources...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tidied waits until Services have nothing of Kopf's, and the mux has no Endpoints.
func (w *world) tidied(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, "what the original left is gone", func(ctx context.Context) error {
		all := []*corev1.Service{w.service(t, product.Namespace, "mux")}
		for _, h := range estate() {
			all = append(all, w.service(t, shop, h.channel))
		}
		for _, svc := range all {
			if strings.Contains(strings.Join(svc.Finalizers, " "), finalizer) || svc.Annotations[kopfMemory] != "" {
				return fmt.Errorf("%s has finalizers %v, annotations %v", svc.Name, svc.Finalizers, svc.Annotations)
			}
		}
		_, err := w.Client.CoreV1().Endpoints(product.Namespace).Get(ctx, "mux", metav1.GetOptions{})
		if err == nil {
			return errors.New("the mux still has Endpoints")
		}
		return client.IgnoreNotFound(err)
	})
}
