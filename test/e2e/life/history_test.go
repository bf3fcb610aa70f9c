package life

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// history watches objects, so that states of a moment are seen, too.
type history struct {
	stop func()
	done sync.WaitGroup

	mu       sync.Mutex
	ended    bool
	seen     int
	troubles []string
}

// follow passes each event to a judge, which returns what is wrong after it.
func follow(t *testing.T, events watch.Interface, judge func(watch.Event) string) *history {
	t.Helper()
	h := &history{stop: events.Stop}
	t.Cleanup(events.Stop)
	h.done.Go(func() {
		for event := range events.ResultChan() {
			h.note(event, judge)
		}
	})
	return h
}

func (h *history) note(event watch.Event, judge func(watch.Event) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended { // the last event of a stopped watch may be its end
		return
	}
	h.seen++
	if trouble := judge(event); trouble != "" {
		h.troubles = append(h.troubles, trouble)
	}
}

func (h *history) end(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.stop()
	h.done.Wait()
	if h.seen == 0 {
		t.Error("the watch saw no events")
	}
	for _, trouble := range h.troubles[:min(5, len(h.troubles))] {
		t.Error(trouble)
	}
}

// images follows a release's reconcilers, and returns the images of all that ever ran.
func (w *world) images(t *testing.T, namespace, selector string) (h *history, images func() []string) {
	t.Helper()
	events, err := w.Client.CoreV1().Pods(namespace).Watch(context.WithoutCancel(t.Context()),
		metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	ever := map[string]bool{}
	h = follow(t, events, func(event watch.Event) string {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return fmt.Sprintf("%s %v", event.Type, event.Object)
		}
		for i := range pod.Status.ContainerStatuses {
			if pod.Status.ContainerStatuses[i].State.Running != nil {
				ever[pod.Spec.Containers[0].Image] = true
			}
		}
		return ""
	})
	return h, func() []string { return slices.Sorted(maps.Keys(ever)) }
}

// leadsAlone follows a release's lease: no process may hold the lease while a pod of the original exists.
func (w *world) leadsAlone(t *testing.T, namespace, selector string) *history {
	t.Helper()
	background := context.WithoutCancel(t.Context())
	events, err := w.Client.CoordinationV1().Leases(namespace).Watch(background, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return follow(t, events, func(event watch.Event) string {
		lease, ok := event.Object.(*coordinationv1.Lease)
		if !ok || ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			return ""
		}
		pods, err := w.Client.CoreV1().Pods(namespace).List(background, metav1.ListOptions{
			LabelSelector: selector + ",!svc-mux.nowake.ai/leader-election",
			FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"})
		if err != nil || len(pods.Items) > 0 {
			return fmt.Sprintf("%s leads beside %d pods of the original (%v)", *lease.Spec.HolderIdentity, len(pods.Items), err)
		}
		return ""
	})
}

// leads follows the slices of a mux: at every moment each port, by its name, must have a ready backend, in any slice.
func (w *world) leads(t *testing.T, namespace, mux string, names ...string) *history {
	t.Helper()
	options := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + mux}
	events, err := w.Client.DiscoveryV1().EndpointSlices(namespace).Watch(context.WithoutCancel(t.Context()), options)
	if err != nil {
		t.Fatal(err)
	}
	all, begun := map[string]*discoveryv1.EndpointSlice{}, false
	return follow(t, events, func(event watch.Event) string {
		slice, ok := event.Object.(*discoveryv1.EndpointSlice)
		if !ok {
			return fmt.Sprintf("%s %v", event.Type, event.Object)
		}
		all[slice.Name] = slice
		if event.Type == watch.Deleted {
			delete(all, slice.Name)
		}
		for _, name := range names {
			if !reaches(all, name) && begun {
				return fmt.Sprintf("after %s of slice %s nothing leads from port %s of the mux", event.Type, slice.Name, name)
			} else if !reaches(all, name) {
				return "" // a watch delivers present objects one by one
			}
		}
		begun = true
		return ""
	})
}

func reaches(all map[string]*discoveryv1.EndpointSlice, port string) bool {
	for _, slice := range all {
		named := slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return *p.Name == port })
		if named && slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
			return e.Conditions.Ready == nil || *e.Conditions.Ready
		}) {
			return true
		}
	}
	return false
}

// holds follows a mux: it must always have its address and these ports.
func (w *world) holds(t *testing.T, namespace, mux string, ports ...string) *history {
	t.Helper()
	events, err := w.Client.CoreV1().Services(namespace).Watch(context.WithoutCancel(t.Context()),
		metav1.ListOptions{FieldSelector: "metadata.name=" + mux})
	if err != nil {
		t.Fatal(err)
	}
	return follow(t, events, func(event watch.Event) string {
		have := portsOf(event.Object)
		if svc, ok := event.Object.(*corev1.Service); ok && len(svc.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Sprintf("%s %s/%s, which has no address", event.Type, namespace, mux)
		}
		for _, port := range ports {
			if event.Type == watch.Deleted || !slices.Contains(have, port) {
				return fmt.Sprintf("%s %s/%s, which has %s, and not %s", event.Type, namespace, mux, strings.Join(have, " "), port)
			}
		}
		return ""
	})
}

// portsOf returns the ports of a Service, as "20000/TCP".
func portsOf(object runtime.Object) []string {
	svc, ok := object.(*corev1.Service)
	if !ok {
		return nil
	}
	var ports []string
	for _, port := range svc.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
	}
	return ports
}
