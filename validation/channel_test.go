package validation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestParseChannelReadsEverything(t *testing.T) {
	lang := language(t)
	created := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "web", UID: "u1", ResourceVersion: "7",
			CreationTimestamp: created, DeletionTimestamp: &created,
			Annotations: map[string]string{
				lang.Keys().ExternalPorts:   "http:8080, grpc:AUTO,",
				lang.Keys().ChannelHostname: "b.example.com,A.example.com.",
				lang.Keys().Disabled:        "true",
				lang.Keys().Ports:           "http:80->8080, grpc:9090->20001",
				FormerCloudflareProxied:     "true",
			},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr("svc-mux.nowake.ai/edge.infra"),
			AllocateLoadBalancerNodePorts: ptr(false), IPFamilies: []corev1.IPFamily{"IPv6"},
			Ports: []corev1.ServicePort{
				{Name: "http", Port: 80}, {Name: "grpc", Port: 9090, AppProtocol: ptr("kubernetes.io/h2c")},
				{Name: "dns", Port: 53, Protocol: "UDP"},
			},
		},
	}
	got, found := lang.ParseChannel(svc)
	if len(found.Problems)+len(found.Warnings) > 0 {
		t.Errorf("found %v", found)
	}
	want := Channel{
		Object: Object{
			Key: types.NamespacedName{Namespace: "team-a", Name: "web"}, UID: "u1", ResourceVersion: "7",
			Created: created.Time, Deleting: true,
		},
		Mux: types.NamespacedName{Namespace: "infra", Name: "edge"},
		Ports: []ChannelPort{
			{Name: "http", Protocol: "TCP", Port: 80, Request: Request{Kind: Number, Number: 8080}},
			{Name: "grpc", Protocol: "TCP", Port: 9090, Request: Request{Kind: Auto}, AppProtocol: "kubernetes.io/h2c"},
			{Name: "dns", Protocol: "UDP", Port: 53, Request: Request{Kind: Own, Number: 53}},
		},
		Disabled:  true,
		Hostnames: []string{"a.example.com", "b.example.com"},
		Proxied:   On,
		Families:  []corev1.IPFamily{"IPv6"},
		Recorded:  []PortMapping{{Name: "http", Port: 80, Public: 8080}, {Name: "grpc", Port: 9090, Public: 20001}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBadChannelIsParsedAsFarAsPossible(t *testing.T) {
	lang := language(t)
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			lang.Keys().ExternalPorts: "http:0x50,grcp:1", lang.Keys().Ports: "http:80->8080",
		}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr("svc-mux.nowake.ai/mux"),
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "grpc", Port: 9090}},
		},
	}
	got, found := lang.ParseChannel(svc)
	if len(found.Problems) != 2 {
		t.Errorf("found %v", found.Problems)
	}
	want := []ChannelPort{
		{Name: "http", Protocol: "TCP", Port: 80, Request: Request{Kind: Unread}},
		{Name: "grpc", Protocol: "TCP", Port: 9090, Request: Request{Kind: Own, Number: 9090}},
	}
	if diff := cmp.Diff(want, got.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if got.Mux.Name != "mux" || len(got.Recorded) != 1 {
		t.Errorf("mux %s, recorded %v", got.Mux, got.Recorded)
	}
}
