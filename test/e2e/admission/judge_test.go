package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/corpus"
	"nowake.ai/svc-lb-mux/validation"
)

// teller binds the policy a second time with the action Warn: a denial names only the first failed rule, but warnings
// name all.
const teller = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: teller}
spec: {policyName: ` + clusterName + `, validationActions: [Warn]}
`

// waitForPolicy waits until both bindings are in force: the API server learns of them a moment after their creation.
func waitForPolicy(t *testing.T, w world) {
	t.Helper()
	w.namespace(t, corpus.Namespace)
	bad := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "bad", Namespace: corpus.Namespace},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	class := prefix
	bad.Spec.LoadBalancerClass = &class
	cluster.Eventually(t, "the policy is in force", func(ctx context.Context) error {
		if got := w.judge(ctx, nil, bad); !got.denied || len(got.reasons) != 2 {
			return fmt.Errorf("the verdict is %+v", got)
		}
		return nil
	})
}

// verdict is the API server's verdict on a change.
type verdict struct {
	denied  bool
	reasons []validation.Reason // reasons of all failed rules, sorted
	message string
	err     error // Kubernetes' own refusal
}

// judge tries a change as a dry run. old is the Service as the API server returned it, or nil.
func (w world) judge(ctx context.Context, old, svc *corev1.Service) verdict {
	ctx, warned := listen(ctx)
	services, tried := w.user.CoreV1().Services(svc.Namespace), svc.DeepCopy()
	var err error
	if old == nil {
		_, err = services.Create(ctx, tried, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	} else {
		tried.Name, tried.ResourceVersion = old.Name, old.ResourceVersion
		_, err = services.Update(ctx, tried, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	got := verdict{denied: deniedByPolicy(err)}
	switch {
	case got.denied:
		got.message = err.Error()
	case err != nil:
		got.err = err
	}
	for _, text := range warned.heard {
		if _, told, found := strings.Cut(text, "with binding 'teller': "); found {
			reason, _, _ := strings.Cut(told, ":")
			got.reasons = append(got.reasons, validation.Reason(reason))
		}
	}
	slices.Sort(got.reasons)
	return got
}

// seed creates a Service as the reconciler, to which the policy doesn't apply: as if it existed before the policy.
func (w world) seed(ctx context.Context, svc *corev1.Service) (*corev1.Service, error) {
	return w.reconciler.CoreV1().Services(svc.Namespace).Create(ctx, svc.DeepCopy(), metav1.CreateOptions{})
}

// atOnce calls do for each number below n, twenty concurrently: round trips take most of the time.
func atOnce(n int, do func(i int)) {
	var wait sync.WaitGroup
	room := make(chan struct{}, 20)
	for i := range n {
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			do(i)
		})
	}
	wait.Wait()
}

func (w world) remove(t *testing.T, svc *corev1.Service) {
	t.Helper()
	if err := w.reconciler.CoreV1().Services(svc.Namespace).Delete(t.Context(), svc.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// withoutNodePorts disables node ports, in order to spare the API server thousands of them. No rule depends on that.
func withoutNodePorts(svc *corev1.Service) *corev1.Service {
	svc = svc.DeepCopy()
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		svc.Spec.AllocateLoadBalancerNodePorts = new(bool)
	}
	return svc
}

// reasons returns validation's reasons, sorted and without duplicates.
func reasons(problems []validation.Problem) []validation.Reason {
	set := map[validation.Reason]bool{}
	for _, p := range problems {
		set[p.Reason] = true
	}
	return slices.Sorted(maps.Keys(set))
}
