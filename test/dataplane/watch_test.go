package dataplane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// sentry watches the objects that kube-proxy reads. It records a gap when a port of the mux is missing, or has no ready
// backend in one of the mux's families.
type sentry struct {
	ports []string

	mu     sync.Mutex
	mux    *corev1.Service
	slices map[string]*discoveryv1.EndpointSlice
	looks  int
	gaps   []string
}

// watchMux watches until the test ends. While the API server is away, the watch sees nothing, and nothing can change.
func (w *world) watchMux(t *testing.T, name string, ports ...string) *sentry {
	t.Helper()
	s := &sentry{ports: ports}
	keepOn(t, func(ctx context.Context) error { return s.follow(ctx, w.Cluster, name) })
	return s
}

// keepOn repeats a function until the test ends, and retries soon after a failure.
func keepOn(t *testing.T, do func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			if err := do(ctx); err != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
}

// follow lists once, and watches until either watch ends.
func (s *sentry) follow(ctx context.Context, c *cluster.Cluster, name string) error {
	services, all := c.Client.CoreV1().Services(edge), c.Client.DiscoveryV1().EndpointSlices(edge)
	mux, err := services.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	label := discoveryv1.LabelServiceName + "=" + name
	list, err := all.List(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return err
	}
	s.begin(mux, list.Items)
	ofMux, err := services.Watch(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: mux.ResourceVersion})
	if err != nil {
		return err
	}
	defer ofMux.Stop()
	ofSlices, err := all.Watch(ctx, metav1.ListOptions{LabelSelector: label, ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer ofSlices.Stop()
	for {
		var event watch.Event
		var open bool
		select {
		case event, open = <-ofMux.ResultChan():
		case event, open = <-ofSlices.ResultChan():
		}
		if !open {
			return nil
		}
		s.see(event)
	}
}

func (s *sentry) begin(mux *corev1.Service, list []discoveryv1.EndpointSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mux, s.slices = mux, map[string]*discoveryv1.EndpointSlice{}
	for i := range list {
		s.slices[list[i].Name] = &list[i]
	}
	s.judge()
}

func (s *sentry) see(event watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := event.Object.(type) {
	case *corev1.Service:
		s.mux = o
	case *discoveryv1.EndpointSlice:
		s.slices[o.Name] = o
		if event.Type == watch.Deleted {
			delete(s.slices, o.Name)
		}
	default:
		return
	}
	s.judge()
}

// judge records a gap. The caller holds the mutex.
func (s *sentry) judge() {
	s.looks++
	for _, name := range s.ports {
		on := slices.ContainsFunc(s.mux.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == name })
		unbacked := slices.DeleteFunc(slices.Clone(s.mux.Spec.IPFamilies), func(family corev1.IPFamily) bool {
			return s.isBacked(name, family)
		})
		if !on || len(unbacked) > 0 || len(s.mux.Status.LoadBalancer.Ingress) == 0 {
			s.gaps = append(s.gaps, fmt.Sprintf("%s %s: on the mux %t, without backends over %v, address %v",
				time.Now().Format("15:04:05.000"), name, on,
				unbacked, s.mux.Status.LoadBalancer.Ingress))
		}
	}
}

// isBacked returns whether a port of the mux has a ready backend of a family. The caller holds the mutex.
func (s *sentry) isBacked(port string, family corev1.IPFamily) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(s.slices)), func(slice *discoveryv1.EndpointSlice) bool {
		return string(slice.AddressType) == string(family) &&
			slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return ptr.Deref(p.Name, "") == port }) &&
			slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
				return ptr.Deref(e.Conditions.Ready, true)
			})
	})
}

// take returns the number of checks since the last call, and the gaps found.
func (s *sentry) take() (looks int, gaps []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	looks, gaps = s.looks, s.gaps
	s.looks, s.gaps = 0, nil
	return looks, gaps
}
