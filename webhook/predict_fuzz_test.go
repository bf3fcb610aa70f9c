package webhook

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// FuzzTrim trims any Service. The trimmed Service must have the same entry as before, and a second trim must change
// nothing.
func FuzzTrim(f *testing.F) {
	golden.Seeds(f)
	mux := testMux(f, map[string]string{"port-range": "20000-20009"})
	noted := mux.DeepCopy()
	noted.Annotations[corev1.LastAppliedConfigAnnotation] = `{"spec":{"ports":[{"port":101}]}}`
	noted.Labels = map[string]string{validation.DefaultPrefix + "/port-range": "1-2"}
	for _, svc := range []*corev1.Service{mux, noted, channel(nil), annotated("external-ports", "http:0,grpc:http"),
		annotated("ports", "http:80->20001")} {
		f.Add(marshal(f, svc))
	}
	f.Add(
		[]byte(
			`{"metadata":{"managedFields":[{"operation":"Apply",
				"fieldsV1":{"f:spec":{"f:ports":{"k:{\"port\":101,\"protocol\":\"TCP\"}":{}}}}}],
		"annotations":{"svc-mux.nowake.ai/multiplexer":"true"}},"spec":{"type":"LoadBalancer"},
		"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.7"}]}}}`))
	lang := testLanguage(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		svc := &corev1.Service{}
		if json.Unmarshal(text, svc) != nil {
			return
		}
		want := readEntry(lang, svc.DeepCopy())
		once := trimmed(t, svc.DeepCopy())
		if diff := cmp.Diff(once, trimmed(t, once.DeepCopy())); diff != "" {
			t.Errorf("a second trim changes:\n%s", diff)
		}
		whole := cmp.Exporter(func(reflect.Type) bool { return true })
		if diff := cmp.Diff(want, readEntry(lang, once), whole); diff != "" {
			t.Errorf("the trimmed Service reads differently:\n%s", diff)
		}
		if key := once.Annotations[corev1.LastAppliedConfigAnnotation]; key != "" || once.Labels != nil ||
			once.ManagedFields != nil {
			t.Errorf("the trimmed Service keeps %+v", once)
		}
		if _, known := svc.Annotations[declaresMark]; !known && declaresPlaceholder(once) != plan.DeclaresPlaceholder(svc) {
			t.Error("another owner declares the placeholder")
		}
	})
}

func trimmed(t *testing.T, svc *corev1.Service) *corev1.Service {
	t.Helper()
	object, err := trim(svc)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*corev1.Service)
}
