package project_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

// Agents of gateways read no channels: slices tell them which clients may connect.
func TestSlicesOfAMuxOnGatewaysBringTheChannelsSettings(t *testing.T) {
	var s scene
	s.Claims = append(s.Claims, struct {
		Port     string          `json:"port"`
		Protocol corev1.Protocol `json:"protocol"`
		MuxName  string          `json:"muxName"`
		Number   int32           `json:"number"`
	}{Port: "http", MuxName: "app-web-http", Number: 80})
	name, number := "http", int32(8080)
	s.Sources = []discoveryv1.EndpointSlice{{ObjectMeta: metav1.ObjectMeta{Name: "web-1"},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &number}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}}}
	with := func(change func(*corev1.Service)) *corev1.Service {
		svc := &corev1.Service{}
		change(svc)
		return svc
	}
	for name, test := range map[string]struct {
		channel                  *corev1.Service
		ranges, affinity, policy string
	}{
		"nothing set": {&corev1.Service{}, "", "None", "Cluster"},
		"everything set": {with(func(svc *corev1.Service) {
			svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8 ", "2001:db8::/32", "10.0.0.0/8"}
			svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		}), "10.0.0.0/8,2001:db8::/32", "ClientIP", "Local"},
		"ranges in the annotation": {with(func(svc *corev1.Service) {
			svc.Annotations = map[string]string{corev1.AnnotationLoadBalancerSourceRangesKey: " 192.0.2.0/24 ,10.0.0.0/8"}
		}), "10.0.0.0/8,192.0.2.0/24", "None", "Cluster"},
		"ranges in both": {with(func(svc *corev1.Service) {
			svc.Annotations = map[string]string{corev1.AnnotationLoadBalancerSourceRangesKey: "192.0.2.0/24"}
			svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		}), "10.0.0.0/8", "None", "Cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			v := s.view(t, nil)
			v.Settings = project.SettingsOf(test.channel)
			plain := project.Decide(v).Steps[0].Slice.Annotations
			want := map[string]string{v.Keys.Managed: "true", v.Keys.Mux: "svc-mux/mux"}
			if diff := cmp.Diff(want, plain); diff != "" {
				t.Errorf("a provider's mux (-want +got):\n%s", diff)
			}
			v.Mux.OnGateways = true
			want[v.Keys.SourceRanges], want[v.Keys.SessionAffinity] = test.ranges, test.affinity
			want[v.Keys.TrafficPolicy] = test.policy
			created := project.Decide(v).Steps[0].Slice
			if diff := cmp.Diff(want, created.Annotations); diff != "" {
				t.Errorf("a mux on gateways (-want +got):\n%s", diff)
			}
			v.Carried = []*discoveryv1.EndpointSlice{created}
			if again := project.Decide(v); !again.Empty() {
				t.Errorf("it is written again: %s", &again)
			}
		})
	}
}
