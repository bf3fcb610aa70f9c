package addresses

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
)

// A pass decides the same for a trimmed Service.
func TestTrimKeepsWhatAPassReads(t *testing.T) {
	language := testLanguage(t)
	keys := language.Keys()
	class, policy := language.FormatGatewayClass("public"), corev1.IPFamilyPolicyRequireDualStack
	svc := written(keys)
	svc.Annotations[keys.Multiplexer], svc.Annotations[keys.Address] = "true", "192.0.2.1"
	svc.Annotations[keys.Gateways] = "2"
	svc.CreationTimestamp = metav1.NewTime(noon)
	svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, IPFamilyPolicy: &policy,
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
		Ports:      []corev1.ServicePort{{Name: "http", Port: 80}}}
	want, _ := decide.Parse(language, svc.DeepCopy())
	trimService(language, svc)
	got, is := decide.Parse(language, svc)
	if !is || len(svc.Spec.Ports) > 0 || svc.Annotations["note"] != "" {
		t.Errorf("%t, %+v", is, svc)
	}
	if want.Service.CreationTimestamp != got.Service.CreationTimestamp ||
		want.Service.Generation != got.Service.Generation ||
		!cmp.Equal(want.Service.Spec.IPFamilies, got.Service.Spec.IPFamilies) || *got.Service.Spec.IPFamilyPolicy != policy {
		t.Errorf("got %+v", got.Service)
	}
	want.Service, got.Service = nil, nil
	if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTrimDropsServicesOfOthers(t *testing.T) {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", Labels: map[string]string{"x": "y"}},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	trimService(testLanguage(t), svc)
	if diff := cmp.Diff(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}, svc); diff != "" {
		t.Error(diff)
	}
}
