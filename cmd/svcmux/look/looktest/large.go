package looktest

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/validation"
)

// Large returns a cluster of one mux with many channels, of one port and one pod each, as it comes to rest. The objects
// have managedFields of a usual size.
func Large(t testing.TB, channels int) *Cluster {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, language: language, objects: map[key]map[string]any{}, now: Now().Add(-12 * 24 * time.Hour)}
	c.put("Service", &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", UID: "mux", Annotations: map[string]string{
			language.Keys().Multiplexer: "true", language.Keys().PortRange: "20000-40000", language.Keys().MaxPorts: "20000",
			language.Keys().Provider: "none",
		}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "placeholder", Port: 101, Protocol: "TCP"}}},
		Status: corev1.ServiceStatus{
			LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}}},
	})
	for i := range channels {
		c.largeChannel(types.NamespacedName{Namespace: fmt.Sprintf("team-%03d", i%200), Name: fmt.Sprintf("service-%05d", i)},
			i)
	}
	c.reconcile()
	return c
}

func (c *Cluster) largeChannel(channel types.NamespacedName, i int) {
	fields := `{"f:metadata":{"f:annotations":{".":{},"f:svc-mux.nowake.ai/external-ports":{}}},` +
		`"f:spec":{"f:allocateLoadBalancerNodePorts":{},` +
		`"f:loadBalancerClass":{},"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},` +
		`"f:port":{}}},"f:selector":{},"f:type":{}}}`
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Apply", APIVersion: "v1",
		FieldsV1: metav1.NewFieldsV1(fields)}}
	c.put("Service", &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: channel.Namespace, Name: channel.Name, UID: types.UID(channel.String()),
			ManagedFields:     managed,
			CreationTimestamp: metav1.NewTime(c.now.Add(time.Duration(i) * time.Second)),
			Annotations:       map[string]string{c.language.Keys().ExternalPorts: "http:auto"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			LoadBalancerClass: ptr.To(validation.DefaultPrefix + "/mux"),
			Selector:          map[string]string{"app": channel.Name},
			Ports:             []corev1.ServicePort{{Name: "http", Port: 80, Protocol: "TCP"}}},
	})
	c.put("EndpointSlice", &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: channel.Namespace, Name: channel.Name + "-x7k2p", ManagedFields: managed,
			Labels: map[string]string{discoveryv1.LabelServiceName: channel.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080),
			Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("10.0.%d.%d", i/250, i%250)},
			NodeName:   ptr.To("node-1"),
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
	})
}
