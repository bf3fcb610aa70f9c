package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// history holds every state of Services, ConfigMaps and EndpointSlices since it began, in the order in which the API
// server stored them.
type history struct {
	w       *world
	streams []watch.Interface
	all     sync.WaitGroup

	mu     sync.Mutex
	states []state
	seen   map[types.NamespacedName]bool // the marks seen so far
}

// state is an object as it was stored, or its last state if it was deleted.
type state struct {
	object client.Object
	gone   bool
}

// remember begins a history. Objects that exist already enter it in their present state, so promises are best checked
// from the beginning.
func (w *world) remember(t *testing.T) *history {
	t.Helper()
	h := &history{w: w, seen: map[types.NamespacedName]bool{}}
	core, discovery := w.user.CoreV1(), w.user.DiscoveryV1()
	follow(t, h, core.Services("").List, core.Services("").Watch)
	follow(t, h, core.ConfigMaps("").List, core.ConfigMaps("").Watch)
	follow(t, h, discovery.EndpointSlices("").List, discovery.EndpointSlices("").Watch)
	t.Cleanup(func() {
		for _, stream := range h.streams {
			stream.Stop()
		}
		h.all.Wait()
	})
	return h
}

func follow[L runtime.Object](t *testing.T, h *history,
	list func(context.Context, metav1.ListOptions) (L, error),
	open func(context.Context, metav1.ListOptions) (watch.Interface, error),
) {
	t.Helper()
	now, err := list(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := meta.ListAccessor(now)
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.EachListItem(now, func(item runtime.Object) error {
		h.add(state{item.(client.Object), false})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	// The watch resumes after an outage of the API server.
	stream, err := toolswatch.NewRetryWatcherWithContext(t.Context(), at.GetResourceVersion(), &toolscache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return open(ctx, options)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.streams = append(h.streams, stream)
	h.all.Go(func() {
		for event := range stream.ResultChan() {
			if object, is := event.Object.(client.Object); is {
				h.add(state{object, event.Type == watch.Deleted})
			}
		}
	})
}

func versionOf(object client.Object) uint64 {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

func (h *history) add(s state) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[markOf(s.object)] {
		return
	}
	if s.object.GetLabels()[markLabel] != "" {
		h.seen[markOf(s.object)] = true
		return
	}
	h.states = append(h.states, s)
}

// markLabel is on objects that a test creates in order to learn how far a history is.
const markLabel = "svc-lb-mux.test/mark"

// markOf distinguishes marks of different kinds.
func markOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprintf("%T", object), Name: object.GetName()}
}

// soFar returns all states up to now.
func (h *history) soFar(t *testing.T) []state {
	t.Helper()
	mark := metav1.ObjectMeta{GenerateName: "mark-", Namespace: "default", Labels: map[string]string{markLabel: "true"}}
	var marks []client.Object
	for _, create := range []func() (client.Object, error){
		func() (client.Object, error) {
			return h.w.user.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: mark},
				metav1.CreateOptions{})
		},
		func() (client.Object, error) {
			return h.w.user.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: mark,
				Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}, metav1.CreateOptions{})
		},
		func() (client.Object, error) {
			return h.w.user.DiscoveryV1().EndpointSlices("default").Create(t.Context(),
				&discoveryv1.EndpointSlice{ObjectMeta: mark, AddressType: discoveryv1.AddressTypeIPv4}, metav1.CreateOptions{})
		},
	} {
		made, err := create()
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, made)
	}
	cluster.Eventually(t, "the history is up to date", func(context.Context) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, mark := range marks {
			if !h.seen[markOf(mark)] {
				return errors.New("the mark isn't in the history yet")
			}
		}
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	states := slices.Clone(h.states)
	slices.SortStableFunc(states, func(a, b state) int { return cmp.Compare(versionOf(a.object), versionOf(b.object)) })
	return states
}
