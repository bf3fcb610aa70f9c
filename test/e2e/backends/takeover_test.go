package backends

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// leave creates the original's Endpoints on a mux, and waits until Kubernetes has mirrored them.
func (w world) leave(t *testing.T, mux, subsets string, ports ...string) {
	t.Helper()
	w.Apply(t, `
apiVersion: v1
kind: Endpoints
metadata:
  name: `+mux+`
  namespace: svc-mux
  labels: {app.kubernetes.io/managed-by: svc-lb-mux, app.kubernetes.io/component: mux-endpoints}
  annotations: {`+prefix+`/managed: "true", `+prefix+`/mux: svc-mux/`+mux+`}
subsets: `+subsets)
	cluster.Eventually(t, "the Endpoints are mirrored", func(ctx context.Context) error {
		list, err := w.Client.DiscoveryV1().EndpointSlices(muxes).List(ctx, metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=" + mux + "," + discoveryv1.LabelManagedBy + "=" +
				project.MirroringController})
		if err != nil {
			return err
		}
		for _, port := range ports {
			if !backed(byName(list.Items), mux, port) {
				return fmt.Errorf("port %s isn't mirrored", port)
			}
		}
		return nil
	})
}

// gone waits until the original's Endpoints and their mirrored slices are deleted.
func (w world) gone(t *testing.T, mux string) {
	t.Helper()
	cluster.Eventually(t, "the original's Endpoints are gone", func(ctx context.Context) error {
		if _, err := w.Client.CoreV1().Endpoints(muxes).Get(ctx, mux, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Endpoints still exist: %w", err)
		}
		list, err := w.Client.DiscoveryV1().EndpointSlices(muxes).List(ctx,
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + mux})
		if err != nil {
			return err
		}
		for _, slice := range list.Items {
			if slice.Labels[discoveryv1.LabelManagedBy] != prefix {
				return fmt.Errorf("slice %s still exists", slice.Name)
			}
		}
		return nil
	})
}

func takeover(t *testing.T, w world) {
	w.mux(t, "takeover", "aaaaaaa", "bbbbbbb")
	for name, address := range map[string]string{"taken-a": "10.0.0.1", "taken-b": "10.0.0.2"} {
		w.channel(t, name, "takeover", "http")
		w.source(t, name, name, []string{"http:8080"}, []string{address})
	}
	w.leave(t, "takeover", `
- {addresses: [{ip: 10.0.0.1}], ports: [{name: aaaaaaa, port: 8080}]}
- {addresses: [{ip: 10.0.0.2}], ports: [{name: bbbbbbb, port: 8080}]}
- {addresses: [{ip: 10.0.0.9}], ports: [{name: ccccccc, port: 8080}]}
`, "aaaaaaa", "bbbbbbb", "ccccccc")
	guard := w.guard(t, "takeover", "aaaaaaa", "bbbbbbb")
	r := w.run(t)
	time.Sleep(time.Second) // no channel has a decision yet
	r.board.set("takeover", "taken-a", "http=aaaaaaa")
	time.Sleep(time.Second) // one of two channels has a decision
	if _, err := w.Client.CoreV1().Endpoints(muxes).Get(t.Context(), "takeover", metav1.GetOptions{}); err != nil {
		t.Fatalf("with one of two channels decided: %v", err)
	}
	r.board.set("takeover", "taken-b", "http=bbbbbbb")
	w.gone(t, "takeover")
	w.carries(t, "takeover", "aaaaaaa 8080: 10.0.0.1", "bbbbbbb 8080: 10.0.0.2")
	guard(t)
	if got := r.costs(t, func() {
		w.Kubectl(t, "annotate", "service", "--namespace="+muxes, "takeover", "some=note")
	}); got != "" {
		t.Errorf("after the takeover, requests continue: %s", got)
	}
}

// guard checks that at every moment every port has a ready backend in a slice of the mux, ours or mirrored.
func (w world) guard(t *testing.T, mux string, ports ...string) func(*testing.T) {
	t.Helper()
	list, err := w.Client.DiscoveryV1().EndpointSlices(muxes).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := w.Client.DiscoveryV1().EndpointSlices(muxes).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	slices := byName(list.Items)
	var mu sync.Mutex
	var gaps []string
	events := 0
	check := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		events++
		for _, port := range ports {
			if !backed(slices, mux, port) {
				gaps = append(gaps, fmt.Sprintf("%s has no backend after %s", port, what))
			}
		}
	}
	check("the beginning")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			slice, is := event.Object.(*discoveryv1.EndpointSlice)
			if !is {
				continue
			}
			if slices[slice.Name] = slice; event.Type == watch.Deleted {
				delete(slices, slice.Name)
			}
			check(fmt.Sprintf("%s %s", event.Type, slice.Name))
		}
	}()
	return func(t *testing.T) {
		t.Helper()
		time.Sleep(300 * time.Millisecond)
		watcher.Stop()
		<-ended
		if len(gaps) > 0 || events < 3 {
			t.Errorf("%d events showed gaps: %q", events, gaps)
		}
	}
}

func byName(list []discoveryv1.EndpointSlice) map[string]*discoveryv1.EndpointSlice {
	slices := map[string]*discoveryv1.EndpointSlice{}
	for i := range list {
		slices[list[i].Name] = &list[i]
	}
	return slices
}

func backed(slices map[string]*discoveryv1.EndpointSlice, mux, port string) bool {
	for _, slice := range slices {
		if slice.Labels[discoveryv1.LabelServiceName] != mux {
			continue
		}
		for _, p := range slice.Ports {
			for _, e := range slice.Endpoints {
				if *p.Name == port && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
					return true
				}
			}
		}
	}
	return false
}

// takeoverWaits publishes a port without a claim. Its only backends are the original's Endpoints, so those must stay.
func takeoverWaits(t *testing.T, w world) {
	w.mux(t, "waits", "aaaaaaa", "unknown")
	w.channel(t, "waits", "waits", "http")
	w.source(t, "waits", "waits", []string{"http:8080"}, []string{"10.0.0.1"})
	w.leave(
		t, "waits", `[{addresses: [{ip: 10.0.0.1}], ports: [{name: aaaaaaa, port: 8080}, {name: unknown, `+
			`port: 9090}]}]`, "aaaaaaa", "unknown")
	r := w.run(t)
	r.board.set("waits", "waits", "http=aaaaaaa")
	w.carries(t, "waits", "aaaaaaa 8080: 10.0.0.1")
	time.Sleep(2 * time.Second)
	if _, err := w.Client.CoreV1().Endpoints(muxes).Get(t.Context(), "waits", metav1.GetOptions{}); err != nil {
		t.Fatalf("the only backends of a published port are gone: %v", err)
	}
	w.Kubectl(t, "patch", "service", "--namespace="+muxes, "waits", "--type=json", "-p",
		`[{"op":"remove","path":"/spec/ports/1"}]`)
	w.gone(t, "waits")
}
