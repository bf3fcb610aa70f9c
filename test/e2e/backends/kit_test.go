package backends

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// mux creates a mux with a port for each name, from 8001 on.
func (w world) mux(t *testing.T, name string, ports ...string) {
	t.Helper()
	w.muxWith(t, name, nil, ports...)
}

func (w world) muxWith(t *testing.T, name string, families []corev1.IPFamily, ports ...string) {
	t.Helper()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name,
		Annotations: map[string]string{prefix + "/multiplexer": "true"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, IPFamilies: families}}
	if len(families) > 1 {
		policy := corev1.IPFamilyPolicyRequireDualStack
		svc.Spec.IPFamilyPolicy = &policy
	}
	if len(ports) == 0 {
		ports = []string{"placeholder"}
	}
	for i, port := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: port, Port: int32(8001 + i)})
	}
	w.service(t, muxes, svc)
}

// channel creates a channel with ports of these names.
func (w world) channel(t *testing.T, name, mux string, ports ...string) {
	t.Helper()
	class, no := prefix+"/"+mux, false
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, AllocateLoadBalancerNodePorts: &no}}
	for i, port := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: port, Port: int32(80 + i)})
	}
	w.service(t, app, svc)
}

func (w world) service(t *testing.T, namespace string, svc *corev1.Service) {
	t.Helper()
	if _, err := w.Client.CoreV1().Services(namespace).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// source writes a slice of a channel. Ports are "http:8080". Endpoints are "10.0.0.1" or, if not ready, "10.0.0.1-".
func (w world) source(t *testing.T, channel, name string, ports, endpoints []string) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{discoveryv1.LabelServiceName: channel}}}
	for _, port := range ports {
		name, number, _ := strings.Cut(port, ":")
		var n int32
		_, _ = fmt.Sscan(number, &n)
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &name, Port: &n})
	}
	slice.Endpoints = endpointsOf(endpoints)
	if strings.Contains(strings.Join(endpoints, ""), ":") {
		slice.AddressType = discoveryv1.AddressTypeIPv6
	}
	all := w.Client.DiscoveryV1().EndpointSlices(app)
	_, err := all.Create(t.Context(), slice, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = all.Update(t.Context(), slice, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func endpointsOf(list []string) []discoveryv1.Endpoint {
	endpoints := []discoveryv1.Endpoint{}
	for _, text := range list {
		address, not := strings.CutSuffix(text, "-")
		ready := !not
		endpoints = append(endpoints, discoveryv1.Endpoint{Addresses: []string{address},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
	}
	return endpoints
}

// on returns our slices on a mux.
func (w world) on(ctx context.Context, mux string) ([]discoveryv1.EndpointSlice, error) {
	list, err := w.Client.DiscoveryV1().EndpointSlices(muxes).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + mux + "," + discoveryv1.LabelManagedBy + "=" + prefix})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// carries waits until a mux carries exactly these slices, each as "name 8080: 10.0.0.1 10.0.0.2-", sorted.
func (w world) carries(t *testing.T, mux string, want ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("mux %s carries %q", mux, want), func(ctx context.Context) error {
		list, err := w.on(ctx, mux)
		if err != nil {
			return err
		}
		if got := texts(list); !slices.Equal(got, want) {
			return fmt.Errorf("the mux carries %q", got)
		}
		return nil
	})
}

func texts(list []discoveryv1.EndpointSlice) []string {
	var all []string
	for i := range list {
		all = append(all, text(&list[i]))
	}
	slices.Sort(all)
	return all
}

func text(slice *discoveryv1.EndpointSlice) string {
	var words []string
	for _, port := range slice.Ports {
		words = append(words, fmt.Sprintf("%s %d", *port.Name, *port.Port))
	}
	all := strings.Join(words, ", ") + ":"
	for _, e := range slice.Endpoints {
		all += " " + e.Addresses[0]
		if e.Conditions.Ready != nil && !*e.Conditions.Ready {
			all += "-"
		}
	}
	return all
}

// one returns the only slice on a mux.
func (w world) one(t *testing.T, mux string) *discoveryv1.EndpointSlice {
	t.Helper()
	list, err := w.on(t.Context(), mux)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d slices on %s, %v", len(list), mux, err)
	}
	return &list[0]
}

// edit changes a slice in the mux's namespace as another user.
func (w world) edit(t *testing.T, name, patch string) {
	t.Helper()
	_, err := w.Client.DiscoveryV1().EndpointSlices(muxes).Patch(t.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
