package project_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

//nolint:staticcheck // deprecated, and asked for by who still reads it
func TestSubsets(t *testing.T) {
	slice := func(name string, ports []discoveryv1.EndpointPort,
		endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Ports: ports, Endpoints: endpoints}
	}
	http := discoveryv1.EndpointPort{Name: new("aaaa"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}
	dns := discoveryv1.EndpointPort{Name: new("bbbb"), Port: new(int32(53)), Protocol: new(corev1.ProtocolUDP)}
	anyPort := discoveryv1.EndpointPort{Name: new("cccc")}
	endpoint := func(address string, ready *bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ready}}
	}
	got := project.Subsets([]*discoveryv1.EndpointSlice{
		slice("z", []discoveryv1.EndpointPort{http}, endpoint("10.0.0.3", new(true))),
		slice("a", []discoveryv1.EndpointPort{dns, http, anyPort}, endpoint("10.0.0.1", nil),
			endpoint("10.0.0.2", new(false))),
		slice("empty", []discoveryv1.EndpointPort{http}),
		slice("portless", []discoveryv1.EndpointPort{anyPort}, endpoint("10.0.0.4", nil)),
	})
	one := corev1.EndpointPort{Name: "aaaa", Port: 8080, Protocol: "TCP"}
	two := corev1.EndpointPort{Name: "bbbb", Port: 53, Protocol: "UDP"}
	want := []corev1.EndpointSubset{
		{Ports: []corev1.EndpointPort{one, two}, Addresses: []corev1.EndpointAddress{{IP: "10.0.0.1"}},
			NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.0.0.2"}}},
		{Ports: []corev1.EndpointPort{one}, Addresses: []corev1.EndpointAddress{{IP: "10.0.0.3"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRecordsOf: after the loss of a ledger, our slices tell whose a port is. So a port name must have one channel.
func TestRecordsOf(t *testing.T) {
	k := keys(t)
	slice := func(channel, by string, ports ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelManagedBy: by,
				k.ChannelNamespace: "app", k.ChannelName: channel}}}
		for _, port := range ports {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &port})
		}
		return s
	}
	ours := project.ManagedBy(k)
	got := project.RecordsOf(k, []*discoveryv1.EndpointSlice{
		slice("web", ours, "aaaa", "bbbb"), slice("web", ours, "aaaa"), slice("api", ours, "cccc", "bbbb"),
		slice("web", ours, "bbbb"),
		slice("other", "somebody", "dddd"), slice("", ours, "eeee"),
	})
	names := map[string]string{}
	for port, channel := range got {
		names[port] = channel.Name
	}
	if diff := cmp.Diff(map[string]string{"aaaa": "web", "cccc": "api"}, names); diff != "" {
		t.Error(diff)
	}
}
