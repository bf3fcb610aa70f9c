package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

func TestStray(t *testing.T) {
	const kopf, prefix = "kopf.zalando.org/last-handled-configuration", validation.DefaultPrefix
	l, err := validation.New(prefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	condition := []metav1.Condition{{Type: prefix + "/Accepted", Status: metav1.ConditionFalse}}
	for name, test := range map[string]struct {
		annotations map[string]string
		finalizers  []string
		conditions  []metav1.Condition
		want        string
	}{
		"a plain Service":                    {},
		"a Service of another Kopf operator": {annotations: map[string]string{kopf: "{}"}},
		"a Service with another finalizer": {annotations: map[string]string{kopf: "{}"},
			finalizers: []string{"example.com/finalizer"}},
		"a former channel": {annotations: map[string]string{prefix + "/ports": "http:80->80"},
			conditions: condition, want: "Accepted, ports"},
		"a former channel of the original": {annotations: map[string]string{kopf: "{}"},
			finalizers: []string{prefix + "/finalizer"}, want: "kopf, finalizer"},
		"a former channel without a finalizer": {annotations: map[string]string{kopf: "{}", prefix + "/ports": "http:80->80"},
			want: "ports, kopf"},
		"the original's finalizer alone": {finalizers: []string{prefix + "/finalizer"}, want: "finalizer"},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web", Annotations: test.annotations, Finalizers: test.finalizers,
			}}
			svc.Status.Conditions = test.conditions
			seen := plan.ReadChannel(l, svc)
			if diff := cmp.Diff(test.want, taken(plan.Stray(l.Keys(), &seen))); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
		})
	}
}

// taken lists what a patch removes.
func taken(patch *plan.ChannelPatch) string {
	if patch == nil {
		return ""
	}
	said := ""
	add := func(is bool, what string) {
		if is && said != "" {
			said += ", "
		}
		if is {
			said += what
		}
	}
	add(len(patch.Drop) > 0, "Accepted")
	add(patch.SetNote, "ports")
	add(len(patch.Leftovers.Annotations) > 0, "kopf")
	add(patch.Leftovers.Finalizer != "", "finalizer")
	return said
}
