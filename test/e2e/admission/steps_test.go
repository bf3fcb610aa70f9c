package admission

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// step is a request, and the reviews it must cause.
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

// user sends requests for one Service.
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

// settled waits until the API server's cache has the stored Service. The API server tries a change on the cached object
// first, and reviews the result. With a stale cache, a request without changes could look like a change.
func (u user) settled(ctx context.Context) error {
	const patience = time.Minute
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		stored, err := u.services().Get(ctx, u.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		cached, err := u.services().Get(ctx, u.name, metav1.GetOptions{ResourceVersion: "0"})
		switch {
		case err == nil && cached.ResourceVersion == stored.ResourceVersion:
			return nil
		case err != nil && !apierrors.IsNotFound(err):
			return err
		case time.Since(began) > patience:
			return fmt.Errorf("the API server's cache of %s is older than version %s", u.name, stored.ResourceVersion)
		}
	}
}

func (u user) patch(data string, subresources ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := u.settled(ctx); err != nil {
			return err
		}
		_, err := u.services().Patch(ctx, u.name, types.MergePatchType, []byte(data), metav1.PatchOptions{}, subresources...)
		return err
	}
}

func (u user) apply(data string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := u.settled(ctx); err != nil {
			return err
		}
		_, err := u.services().Patch(ctx, u.name, types.ApplyYAMLPatchType, []byte(data),
			metav1.PatchOptions{FieldManager: "test"})
		return err
	}
}

func (u user) update(change func(svc *corev1.Service)) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := u.settled(ctx); err != nil {
			return err
		}
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
	if err := u.settled(ctx); err != nil {
		return err
	}
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
	if err := u.settled(ctx); err != nil {
		return err
	}
	return u.services().Delete(ctx, u.name, metav1.DeleteOptions{})
}

func label(value string) func(svc *corev1.Service) {
	return func(svc *corev1.Service) { metav1.SetMetaDataLabel(&svc.ObjectMeta, "a", value) }
}

func annotation(value string) func(svc *corev1.Service) {
	return func(svc *corev1.Service) { metav1.SetMetaDataAnnotation(&svc.ObjectMeta, "example.com/a", value) }
}

func nothing(*corev1.Service) {}

const (
	labelPatch      = `{"metadata":{"labels":{"b":"patched"}}}`
	annotationPatch = `{"metadata":{"annotations":{"example.com/b":"patched"}}}`
)

// applied returns a Service with a label or an annotation.
func applied(name, metadata string) string {
	return `{"apiVersion":"v1","kind":"Service","metadata":{"name":"` + name + `","` + metadata +
		`":{"example.com/c":"applied"}}}`
}

const statusPatch = `{"status":{"conditions":[{"type":"example.com/Patched","status":"True","reason":"Patched",` +
	`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`

// idle is the suffix of steps that change neither spec nor annotations.
const idle = " without effect"

// everyVerb returns the requests that leave a Service's kind as it is: mux, channel or other.
func everyVerb(u user, svc *corev1.Service) []step {
	steps := []step{{what: "create", do: u.create(svc)}}
	steps = append(steps, idleVerbs(u)...)
	return append(steps,
		step{what: "update", do: u.update(annotation("updated"))},
		step{what: "patch", do: u.patch(annotationPatch)},
		step{what: "apply", do: u.apply(applied(svc.Name, "annotations"))},
		step{what: "the same apply" + idle, do: u.apply(applied(svc.Name, "annotations"))},
		step{what: "patch of its status", do: u.patch(statusPatch, "status")},
		step{what: "update of its status", do: u.updateStatus},
		step{what: "delete", do: u.remove},
	)
}

// idleVerbs returns changes of a Service that need no review: they change nothing, or only labels.
func idleVerbs(u user) []step {
	return []step{
		{what: "update" + idle, do: u.update(nothing)},
		{what: "patch" + idle, do: u.patch("{}")},
		{what: "update of its labels" + idle, do: u.update(label("updated"))},
		{what: "patch of its labels" + idle, do: u.patch(labelPatch)},
		{what: "apply of its labels" + idle, do: u.apply(applied(u.name, "labels"))},
	}
}
