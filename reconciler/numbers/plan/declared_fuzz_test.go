package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// FuzzDeclaresPlaceholder: any annotation and any managedFields are read as the API server would read them.
func FuzzDeclaresPlaceholder(f *testing.F) {
	golden.Seeds(f)
	f.Add(`{"spec":{"ports":[{"name":"placeholder","port":101}]}}`, `{}`)
	f.Add(`{"spec":{"ports":[{"port":101,"protocol":"UDP"}]}}`,
		`{"f:spec":{"f:ports":{"k:{\"port\":101,\"protocol\":\"TCP\"}":{}}}}`)
	f.Add(`{"spec":{"ports":null}}`, `{"f:spec":{"f:ports":[]}}`)
	f.Add(`{"spec":[]}`, `nothing`)
	f.Fuzz(func(t *testing.T, note, fields string) {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: note},
			ManagedFields: []metav1.ManagedFieldsEntry{{Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(fields)}},
		}}
		got := plan.DeclaresPlaceholder(svc)
		var applied corev1.Service
		if err := json.Unmarshal([]byte(note), &applied); err != nil {
			return
		}
		says := slices.ContainsFunc(applied.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Port == 101 && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP)
		})
		if says && !got {
			t.Error("kubectl applied the placeholder, got false")
		}
		if got && !says && !strings.Contains(fields, "101") {
			t.Error("no tool applied the placeholder, got true")
		}
	})
}
