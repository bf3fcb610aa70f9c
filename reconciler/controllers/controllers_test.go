package controllers

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestAChangeHasTheOldStateAndTheNewOne(t *testing.T) {
	one, two := version("1"), version("2")
	of := func(object client.Object) string {
		if object == nil {
			return "none"
		}
		return object.GetResourceVersion()
	}
	var got []string
	changed := OnChange(func(_ context.Context, _ Queue, old, now client.Object) {
		got = append(got, of(old)+" to "+of(now))
		for _, object := range Differing(old, now) {
			got = append(got, "differs: "+of(object))
		}
	})
	changed.Create(t.Context(), event.CreateEvent{Object: one}, nil)
	changed.Update(t.Context(), event.UpdateEvent{ObjectOld: one, ObjectNew: two}, nil)
	changed.Update(t.Context(), event.UpdateEvent{ObjectOld: two, ObjectNew: two}, nil)
	changed.Delete(t.Context(), event.DeleteEvent{Object: two}, nil)
	want := []string{"none to 1", "differs: 1", "1 to 2", "differs: 1", "differs: 2", "2 to 2", "2 to none", "differs: 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func version(v string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: v}}
}
