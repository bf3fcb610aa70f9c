package webhook

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTrimmingTwiceKeepsTheSettings(t *testing.T) {
	svc := testMux(t, nil)
	svc.Annotations[corev1.LastAppliedConfigAnnotation] = `{"spec":{"ports":[{"port":101}]}}`
	svc.Labels, svc.Status.Conditions = map[string]string{"a": "b"}, []metav1.Condition{{Type: "x"}}
	before := svc.DeepCopy()
	for range 2 {
		trimmed, err := trim(svc)
		if err != nil {
			t.Fatal(err)
		}
		svc = trimmed.(*corev1.Service)
		if svc.Labels != nil || svc.Status.Conditions != nil || svc.Annotations[corev1.LastAppliedConfigAnnotation] != "" {
			t.Errorf("the trimmed Service is %v", svc)
		}
	}
	if !readMux(testLanguage(t), svc).DeclaresPlaceholder || !readMux(testLanguage(t), before).DeclaresPlaceholder {
		t.Error("the trim loses who declares the placeholder")
	}
}
