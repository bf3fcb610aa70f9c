package api

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestADryRunStoresNothing: the object, its version, the watches and the node ports stay as they were.
func TestADryRunStoresNothing(t *testing.T) {
	s := NewServer(time.Now)
	c := &Client{Server: s}
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	if err := c.Create(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	before, log, used := svc.DeepCopy(), len(s.log), len(s.numbers.nodePorts)
	patch := func(body string, options ...client.PatchOption) error {
		return c.Patch(t.Context(), svc, client.RawPatch(types.MergePatchType, []byte(body)), options...)
	}
	if err := patch(`{"spec":{"ports":[{"name":"http","port":80},{"name":"more","port":81}]}}`,
		client.DryRunAll); err != nil || len(svc.Spec.Ports) != 2 {
		t.Errorf("a good patch: %v, ports %v", err, svc.Spec.Ports)
	}
	if err := patch(`{"spec":{"ports":[{"name":"a","port":80},{"name":"b","port":80}]}}`, client.DryRunAll); err == nil {
		t.Error("a bad patch is accepted")
	}
	var after corev1.Service
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(svc), &after); err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != before.ResourceVersion || len(after.Spec.Ports) != 1 || len(s.log) != log ||
		len(s.numbers.nodePorts) != used {
		t.Errorf("the object is %s with %v, was %s; %d changes, were %d; %d node ports, were %d",
			after.ResourceVersion, after.Spec.Ports, before.ResourceVersion, len(s.log), log, len(s.numbers.nodePorts), used)
	}
}
