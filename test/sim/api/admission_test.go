package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/sim/api"
)

// Annotation values that make admission refuse a request. Each can be removed by some request: otherwise a sequence
// would stall.
const (
	refused = "refused" // x: no write may set this value
	frozen  = "frozen"  // x: no update may keep this value, even if it changes nothing
	kept    = "kept"    // y: the object may not be deleted
	mute    = "mute"    // y: no request may write the status
)

// policy is the real server's admission policy. It has the same rules as admit.
const policy = `
request.operation == "DELETE" ? variables.kept != "` + kept + `" :
  variables.to != "` + refused + `" &&
  !(request.operation == "UPDATE" && variables.from == "` + frozen + `" && variables.to == "` + frozen + `") &&
  !(has(request.subResource) && request.subResource == "status" && variables.status == "` + mute + `")`

func admit(r *api.Review) error {
	mark := func(obj client.Object, key string) string { return obj.GetAnnotations()["example.com/"+key] }
	no := false
	switch {
	case r.Verb == "delete":
		no = mark(r.Before, "y") == kept
	case mark(r.After, "x") == refused:
		no = true
	case r.Verb == "update":
		no = mark(r.Before, "x") == frozen && mark(r.After, "x") == frozen || r.Status && mark(r.After, "y") == mute
	}
	if !no {
		return nil
	}
	return apierrors.NewForbidden(r.Kind.Resource(), r.Key.Name, errors.New("it says so itself"))
}

func admission() []client.Object {
	mark := func(name, obj, key string) admissionv1.Variable {
		return admissionv1.Variable{Name: name, Expression: obj + `.metadata.?annotations[?"example.com/` + key +
			`"].orValue("")`}
	}
	rule := func(group string, resources ...string) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources},
		}}
	}
	meta := metav1.ObjectMeta{Name: "marks"}
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{
				rule("", "services", "services/status", "configmaps", "endpoints"), rule("discovery.k8s.io", "endpointslices"),
			}},
			Variables: []admissionv1.Variable{mark("from", "oldObject", "x"), mark("to", "object", "x"),
				mark("kept", "oldObject", "y"), mark("status", "object", "y")},
			Validations: []admissionv1.Validation{{Expression: policy, Reason: ptr.To(metav1.StatusReasonForbidden),
				Message: "it says so itself"}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta,
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			}},
	}
}

// police installs the policy on the real server, and waits until it is in force.
func police(t *testing.T, real client.Client) {
	t.Helper()
	for _, obj := range admission() {
		if err := real.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "the policy is asked", func(ctx context.Context) error {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "probe-",
			Annotations: map[string]string{"example.com/x": refused}}}
		if err := real.Create(ctx, probe); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a probe is answered with %q", reason(err))
		}
		return nil
	})
}

// unchanged sends requests that change nothing to an object that may not be changed. Random requests rarely do that.
func unchanged(t *testing.T, real client.WithWatch) {
	const place = "conformance-unchanged"
	namespace(t, real, place)
	server := api.NewServer(time.Now)
	server.Admit = admit
	ours, theirs := newSide(t, &api.Client{Server: server}, place), newSide(t, real, place)
	mark := map[string]string{"example.com/x": frozen}
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: mark, Labels: map[string]string{}}}
	patch := map[string]any{"metadata": map[string]any{"annotations": mark}}
	for _, q := range []struct {
		request
		reason metav1.StatusReason
	}{
		{request{verb: "create", object: obj}, ""},
		{request{verb: "update", object: obj}, metav1.StatusReasonForbidden},
		{request{verb: "patch", object: obj, patch: patch, how: types.MergePatchType}, metav1.StatusReasonForbidden},
		{request{verb: "delete", object: obj}, ""},
	} {
		want, got := theirs.ask(q.request), ours.ask(q.request)
		if want != got || want.reason != string(q.reason) {
			t.Errorf("%s: the real server answers %+v, ours %+v", q.verb, want, got)
		}
	}
}
