package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nowake.ai/svc-lb-mux/validation"
)

func TestChannelHasNothingOfTheServiceButItsPods(t *testing.T) {
	lang, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	policy := corev1.IPFamilyPolicyPreferDualStack
	old := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "2", Labels: map[string]string{"app": "web"},
		Annotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": "web.example.com"},
	}}
	old.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"}, ClusterIP: "10.0.0.1",
		ClusterIPs:  []string{"10.0.0.1"},
		ExternalIPs: []string{"192.0.2.1"}, HealthCheckNodePort: 30000, PublishNotReadyAddresses: true,
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, IPFamilyPolicy: &policy,
	}
	old.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.2"}}
	port := corev1.ServicePort{Name: "https", Port: 443, TargetPort: intstr.FromString("tls"), NodePort: 30443}
	channel := Channel(lang, old, "web-mux", types.NamespacedName{Namespace: "infra", Name: "mux"}, []Port{{port, 20000}})
	text, err := yamlOf(channel)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: v1
kind: Service
metadata:
  annotations:
    svc-mux.nowake.ai/external-ports: https:20000
  name: web-mux
  namespace: shop
spec:
  allocateLoadBalancerNodePorts: false
  ipFamilies:
  - IPv4
  - IPv6
  ipFamilyPolicy: PreferDualStack
  loadBalancerClass: svc-mux.nowake.ai/mux.infra
  ports:
  - name: https
    port: 443
    targetPort: tls
  publishNotReadyAddresses: true
  selector:
    app: web
  type: LoadBalancer
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := lang.Check(channel); len(found.Problems)+len(found.Warnings) > 0 {
		t.Errorf("findings: %+v", found)
	}
}

// A Service in a file may have ipFamilyPolicy without ipFamilies. A channel beside an IPv6 Service must not become
// IPv4.
func TestChannelHasTheIPFamiliesOfTheService(t *testing.T) {
	lang, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	require, single := corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack
	for name, spec := range map[string]corev1.ServiceSpec{
		"neither":        {},
		"a policy alone": {IPFamilyPolicy: &require},
		"one family":     {IPFamilyPolicy: &single, IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}},
		"a family alone": {IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}},
		"IPv6 comes first": {IPFamilyPolicy: &require,
			IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}},
	} {
		channel := Channel(lang, &corev1.Service{Spec: spec}, "web-mux",
			types.NamespacedName{Namespace: "infra", Name: "mux"}, nil)
		got := corev1.ServiceSpec{IPFamilies: channel.Spec.IPFamilies, IPFamilyPolicy: channel.Spec.IPFamilyPolicy}
		if diff := cmp.Diff(spec, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNamesOfChannelsFit(t *testing.T) {
	for service, want := range map[string]string{
		"web":                             "web-mux",
		strings.Repeat("a", 59):           strings.Repeat("a", 59) + "-mux",
		strings.Repeat("a", 63):           strings.Repeat("a", 59) + "-mux",
		strings.Repeat("a", 58) + "-bbbb": strings.Repeat("a", 58) + "-mux",
	} {
		if got := ChannelName(service, "-mux"); got != want {
			t.Errorf("%s: got %s, want %s", service, got, want)
		}
	}
}

func TestUnnamedPortsAreNamedByProtocolAndNumber(t *testing.T) {
	for want, port := range map[string]corev1.ServicePort{
		"http": {Name: "http", Port: 80}, "tcp-80": {Port: 80}, "udp-53": {Port: 53, Protocol: corev1.ProtocolUDP},
	} {
		if got := PortName(port); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
