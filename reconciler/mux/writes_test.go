package mux

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/reconciler/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// answering is an API server that returns patched from every patch, live from a read of the mux, and channel from a
// read of a channel.
type answering struct {
	client.Client
	patched, live, channel *corev1.Service
}

func (a answering) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	*obj.(*corev1.Service) = *a.patched.DeepCopy()
	return nil
}

func (a answering) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if key.Name == "mux" {
		*obj.(*corev1.Service) = *a.live.DeepCopy()
	} else {
		*obj.(*corev1.Service) = *a.channel.DeepCopy()
	}
	return nil
}

type unmetered struct{ Metrics }

func (unmetered) Wrote(string) {}

func newLine(t *testing.T, a answering) *Line {
	t.Helper()
	language, err := validation.New(validation.DefaultPrefix, "svc-mux")
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Language: language, Writer: a, Live: a, Metrics: unmetered{}, Now: time.Now})
}

func service(version string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "svc-mux", Name: "mux", UID: "one", ResourceVersion: version,
		Annotations: map[string]string{validation.DefaultPrefix + "/multiplexer": "true"}}}
}

// TestWrittenMuxCountsWhileTheCacheIsBehind: the next pass must not decide from the old one.
func TestWrittenMuxCountsWhileTheCacheIsBehind(t *testing.T) {
	line := newLine(t, answering{patched: service("17")})
	key := client.ObjectKeyFromObject(service(""))
	o := &pass{Line: line, world: plan.World{Key: key}, service: service("11"), memory: newMemory(budget.Limit{})}
	if err := o.patchMux(t.Context(), &plan.MuxPatch{}); err != nil {
		t.Fatal(err)
	}
	if got := line.services.Latest(key, service("11")); got.ResourceVersion != "17" || o.service.ResourceVersion != "17" {
		t.Errorf("the latest version is %s, and the pass continues with %s", got.ResourceVersion, o.service.ResourceVersion)
	}
}

func TestRefusedUIDMeansThatTheServiceIsAnother(t *testing.T) {
	refused := func(path ...string) error {
		at := field.NewPath(path[0], path[1:]...)
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", field.ErrorList{field.Invalid(at, "two", "field is immutable")})
	}
	if !isRecreated(refused("metadata", "uid")) || isRecreated(refused("metadata", "name")) || isRecreated(nil) {
		t.Error("isRecreated doesn't look at the refused field")
	}
}
