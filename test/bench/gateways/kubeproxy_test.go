package gateways

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

const (
	portsEach = 500 // ports of a Service: one with 10,000 ports would be too large for the API server
	space     = "default"
)

// kubeProxyRules returns the rules of the real kube-proxy in nftables mode, for Services that together have 10,000
// ports at the address.
func kubeProxyRules(b *testing.B) string {
	b.Helper()
	c := cluster.Start(b)
	config := rest.CopyConfig(c.Config)
	config.QPS, config.Burst = -1, -1
	client, err := kubernetes.NewForConfig(config)
	must(b, err)
	for begin := 0; begin < services; begin += portsEach {
		loadBalanced(b, client, begin)
	}
	var rules string
	cluster.Eventually(b, "kube-proxy has programmed all ports", func(ctx context.Context) error {
		out, err := c.Run(ctx, cluster.Program{Args: []string{"/bin/sh", "-c", "nft list table ip kube-proxy"}})
		if err != nil {
			return err
		}
		rules = out.Stdout
		if n := strings.Count(rules, address().String()+" . tcp . "); n < services {
			return fmt.Errorf("%d of %d", n, services)
		}
		if strings.Count(rules, backends()[2].String()) < services {
			return errors.New("endpoints are missing")
		}
		return nil
	})
	return rules
}

// loadBalanced makes a Service whose load balancer keeps the destination address, so that kube-proxy translates it.
func loadBalanced(b *testing.B, client kubernetes.Interface, begin int) {
	b.Helper()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("many-%d", begin)},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: ptr.To(false)}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: svc.Name,
		Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name}},
		AddressType: discoveryv1.AddressTypeIPv4}
	for i := range portsEach {
		name := fmt.Sprintf("p%d", i)
		svc.Spec.Ports = append(svc.Spec.Ports,
			corev1.ServicePort{Name: name, Port: int32(first + begin + i), Protocol: corev1.ProtocolTCP})
		slice.Ports = append(slice.Ports,
			discoveryv1.EndpointPort{Name: &name, Port: ptr.To[int32](target), Protocol: ptr.To(corev1.ProtocolTCP)})
	}
	for _, backend := range backends() {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{backend.String()},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	created, err := client.CoreV1().Services(space).Create(b.Context(), svc, metav1.CreateOptions{})
	must(b, err)
	created.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address().String(),
		IPMode: ptr.To(corev1.LoadBalancerIPModeVIP)}}
	_, err = client.CoreV1().Services(space).UpdateStatus(b.Context(), created, metav1.UpdateOptions{})
	must(b, err)
	_, err = client.DiscoveryV1().EndpointSlices(space).Create(b.Context(), slice, metav1.CreateOptions{})
	must(b, err)
}
