package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/validation"
)

func TestOnlyAnApplierOwnsThePlaceholder(t *testing.T) {
	owns := metav1.NewFieldsV1(`{"f:spec":{"f:ports":{"k:{\"port\":101,\"protocol\":\"TCP\"}":{}}}}`)
	for name, test := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  bool
	}{
		"an applier": {metav1.ManagedFieldsEntry{Operation: metav1.ManagedFieldsOperationApply, FieldsV1: owns},
			true},
		"an updater": {metav1.ManagedFieldsEntry{Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: owns},
			false},
		"an applier of a status": {metav1.ManagedFieldsEntry{Operation: metav1.ManagedFieldsOperationApply,
			Subresource: "status", FieldsV1: owns}, false},
		"an applier of no fields": {metav1.ManagedFieldsEntry{Operation: metav1.ManagedFieldsOperationApply}, false},
	} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{test.entry}}}
		if got := DeclaresPlaceholder(svc); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestMayHaveOurs: a mux with ranges alone may have lost a ledger, too.
func TestMayHaveOurs(t *testing.T) {
	web := corev1.ServicePort{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP}
	for name, test := range map[string]struct {
		mux  validation.Mux
		want bool
	}{
		"the placeholder": {validation.Mux{Ports: []corev1.ServicePort{*placeholderPort()}}, false},
		"a port":          {validation.Mux{Ports: []corev1.ServicePort{*placeholderPort(), web}}, true},
		"a range": {validation.Mux{Ports: []corev1.ServicePort{*placeholderPort()},
			Ranges: []validation.MuxRange{{Name: "rtp"}}}, true},
	} {
		if got := MayHaveOurs(&test.mux); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
