package admission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// step is one request, and what the webhook hears of it.
type step struct {
	what string
	do   func(ctx context.Context) error
	want []string
}

func run(t *testing.T, hook *webhook, steps []step) {
	t.Helper()
	for _, s := range steps {
		if err := s.do(t.Context()); err != nil {
			t.Errorf("%s: %v", s.what, err)
		}
		hook.expect(t, s.what, s.want...)
	}
}

// user does things to one Service.
type user struct {
	w    world
	as   string // empty for the administrator
	name string
}

func (u user) services() interface {
	Create(ctx context.Context, svc *corev1.Service, options metav1.CreateOptions) (*corev1.Service, error)
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Service, error)
	Update(ctx context.Context, svc *corev1.Service, options metav1.UpdateOptions) (*corev1.Service, error)
	UpdateStatus(ctx context.Context, svc *corev1.Service, options metav1.UpdateOptions) (*corev1.Service, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
		subresources ...string) (*corev1.Service, error)
} {
	if u.as == reconciler {
		return u.w.reconciler.CoreV1().Services(team)
	}
	return u.w.user.CoreV1().Services(team)
}

func (u user) create(svc *corev1.Service) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := u.services().Create(ctx, svc, metav1.CreateOptions{})
		return err
	}
}

func (u user) patch(data string, subresources ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := u.services().Patch(ctx, u.name, types.MergePatchType, []byte(data), metav1.PatchOptions{}, subresources...)
		return err
	}
}

func (u user) apply(data string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := u.services().Patch(ctx, u.name, types.ApplyYAMLPatchType, []byte(data),
			metav1.PatchOptions{FieldManager: "test"})
		return err
	}
}

func (u user) update(change func(svc *corev1.Service)) func(context.Context) error {
	return func(ctx context.Context) error {
		svc, err := u.services().Get(ctx, u.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(svc)
		_, err = u.services().Update(ctx, svc, metav1.UpdateOptions{})
		return err
	}
}

func (u user) updateStatus(ctx context.Context) error {
	svc, err := u.services().Get(ctx, u.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	svc.Status.Conditions = []metav1.Condition{{Type: "example.com/Seen", Status: metav1.ConditionTrue, Reason: "Seen",
		LastTransitionTime: metav1.Now()}}
	_, err = u.services().UpdateStatus(ctx, svc, metav1.UpdateOptions{})
	return err
}

func (u user) remove(ctx context.Context) error {
	return u.services().Delete(ctx, u.name, metav1.DeleteOptions{})
}

func label(value string) func(svc *corev1.Service) {
	return func(svc *corev1.Service) { metav1.SetMetaDataLabel(&svc.ObjectMeta, "a", value) }
}

const labelPatch = `{"metadata":{"labels":{"b":"patched"}}}`

func applied(name string) string {
	return `{"apiVersion":"v1","kind":"Service","metadata":{"name":"` + name + `","labels":{"c":"applied"}}}`
}

const statusPatch = `{"status":{"conditions":[{"type":"example.com/Patched","status":"True","reason":"Patched",` +
	`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`

// everyVerb is what can be done to a Service that stays what it is.
func everyVerb(u user, svc *corev1.Service) []step {
	return []step{
		{what: "create", do: u.create(svc)},
		{what: "update", do: u.update(label("updated"))},
		{what: "patch", do: u.patch(labelPatch)},
		{what: "apply", do: u.apply(applied(svc.Name))},
		{what: "patch of its status", do: u.patch(statusPatch, "status")},
		{what: "update of its status", do: u.updateStatus},
		{what: "delete", do: u.remove},
	}
}
