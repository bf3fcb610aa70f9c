package dataplane

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// farewells holds the times at which pods of the namespace shop were told to end. It takes them from the pods' deletion
// timestamps. The kubelet's Events come ten seconds late, or later, if the API server was away just before.
type farewells struct {
	mu   sync.Mutex
	told map[string]time.Time
}

func (w *world) watchFarewells(t *testing.T) {
	t.Helper()
	w.farewells = &farewells{told: map[string]time.Time{}}
	keepOn(t, w.follow)
}

// follow lists the pods once, and watches them until the watch ends.
func (w *world) follow(ctx context.Context) error {
	pods := w.Client.CoreV1().Pods(shop)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		w.farewells.see(watch.Event{Object: &list.Items[i]})
	}
	news, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer news.Stop()
	for event := range news.ResultChan() {
		w.farewells.see(event)
	}
	return nil
}

// see records the first deletion timestamp of a pod. A later forced deletion doesn't change the time.
func (f *farewells) see(event watch.Event) {
	pod, is := event.Object.(*corev1.Pod)
	if !is || pod.DeletionTimestamp == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.told[pod.Name]; !known {
		f.told[pod.Name] = pod.DeletionTimestamp.Add(
			-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
	}
}

// toldToEnd returns the times by pod.
func (f *farewells) toldToEnd() map[string]time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.told)
}
