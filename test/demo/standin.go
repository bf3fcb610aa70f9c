package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/validation"
)

// standIn replaces pods where there are no nodes. Webhook and reconciler run as processes beside the control plane.
// kwok marks the apps' pods as running, and this process answers their requests. Everything else is as usual.
func (s *show) standIn(ctx context.Context) error {
	s.text("Without root no node runs pods here. Webhook and reconciler run as processes; the apps' pods are played.")
	if err := s.startWebhook(ctx); err != nil {
		return err
	}
	// This process answers for the apps' pods at the console's port.
	_, err := s.cluster.Add("reconciler", "/usr/bin/env", "DEBUG_WEB_ENABLED=false",
		filepath.Join(s.scratch, "reconciler"),
		"--namespace="+namespace, "--gateway-api-implementation", "--gateway-api-allocator")
	return errors.Join(err, s.playPods(ctx))
}

// startWebhook serves with the certificate that cert-manager made for the pods. The webhook Service's endpoint is this
// process.
func (s *show) startWebhook(ctx context.Context) error {
	const certificate = "kubectl wait certificate svc-mux-webhook --namespace " + namespace +
		" --for=condition=Ready --timeout=60s"
	if _, err := s.shell(ctx, certificate); err != nil {
		return err
	}
	secret, err := s.cluster.Client.CoreV1().Secrets(namespace).Get(ctx, "svc-mux-webhook-tls", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the webhook's certificate: %w", err)
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(s.scratch, name), secret.Data[name], 0o600); err != nil {
			return err
		}
	}
	_, err = s.cluster.Add("webhook", filepath.Join(s.scratch, "webhook"), "--default-mux-namespace="+namespace,
		"--cert-dir="+s.scratch, "--probe-address=:8082", "--predict", "--gateway-api-allocator")
	if err != nil {
		return err
	}
	address, err := s.controlPlane(ctx)
	if err != nil {
		return err
	}
	port, name, ready := int32(9443), "reviews", true
	_, err = s.cluster.Client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "svc-mux-webhook-process",
			Labels: map[string]string{discoveryv1.LabelServiceName: "svc-mux-webhook"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("lead the webhook's Service to its process: %w", err)
	}
	return s.awaitWebhook(ctx)
}

// awaitWebhook waits until the webhook refuses a channel: cainjector and kube-proxy take a moment.
func (s *show) awaitWebhook(ctx context.Context) error {
	class, nodePorts := validation.DefaultPrefix+"/mux", false
	nameless := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "nameless"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, AllocateLoadBalancerNodePorts: &nodePorts,
		Ports: []corev1.ServicePort{{Port: 80}}}}
	return patiently(ctx, func() error {
		_, err := s.cluster.Client.CoreV1().Services("default").Create(ctx, nameless,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) {
			return nil
		}
		return fmt.Errorf("the webhook doesn't refuse a channel whose port has no name: %w", err)
	})
}

func (s *show) controlPlane(ctx context.Context) (string, error) {
	node, err := s.cluster.Client.CoreV1().Nodes().Get(ctx, cluster.ControlPlaneNode, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("find the control plane: %w", err)
	}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address, nil
		}
	}
	return "", fmt.Errorf("the control plane has no address: %v", node.Status.Addresses)
}

// playPods adds a node that accepts any pod and runs none, and answers requests to the pods on it.
func (s *show) playPods(ctx context.Context) error {
	if err := s.cluster.AddFakeNodes(ctx, 1); err != nil {
		return err
	}
	if _, err := s.shell(ctx, "kubectl taint nodes --selector="+cluster.FakeNode+"=true "+cluster.FakeNode+
		"-"); err != nil {
		return err
	}
	if err := s.cluster.AnswerForFakePods(ctx); err != nil {
		return err
	}
	listener, err := s.cluster.Inside().Listen("tcp", "0.0.0.0:8080")
	if err != nil {
		return fmt.Errorf("answer for the apps' pods: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // Serve returns when the cluster ends
	return nil
}

// answer responds as the pod that the connection was meant for.
func (s *show) answer(w http.ResponseWriter, r *http.Request) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	ip, _, _ := net.SplitHostPort(local.String())
	pods, err := s.cluster.Client.CoreV1().Pods("").List(r.Context(), metav1.ListOptions{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, pod := range pods.Items {
		if pod.Status.PodIP == ip {
			fmt.Fprintf(w, "The answer of pod %s/%s, as played by the demo.", pod.Namespace, pod.Name)
			return
		}
	}
	http.Error(w, "no pod has the address "+ip, http.StatusNotFound)
}
