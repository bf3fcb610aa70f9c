package reconciler

import (
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"nowake.ai/svc-lb-mux/test/bench/figure"
	"nowake.ai/svc-lb-mux/test/cluster/provider"
)

// BenchmarkConvergence creates channels at once. It measures the time from the last creation until every channel shows
// its address and the mux has all ports and slices. The floor is a client with as many concurrent requests as the
// reconciler, which only patches each status and writes each slice.
func BenchmarkConvergence(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("channels=%d", n), func(b *testing.B) {
			for b.Loop() {
				convergence(b, n)
			}
		})
	}
}

// originals is the original's time for ten channels, in milliseconds.
const originals = 430

func convergence(b *testing.B, n int) {
	w := start(b)
	w.floor(b, names("warm-up", 20)) // the first requests to a fresh API server are slow
	floor := w.floor(b, names("floor", n))
	w.mux(b, "mux")
	w.run(b)
	warm := names("warm", 1)
	w.sources(b, warm)
	w.channels(b, "mux", warm)
	w.eyes.await(b, "a first channel", programmed(warm))

	all := names("app", n)
	w.sources(b, all)
	first := time.Now()
	w.channels(b, "mux", all)
	last := time.Now()
	done := w.eyes.await(b, "all channels", programmed(append(all, warm...)))
	name := fmt.Sprintf("reconciler/convergence-of-%d", n)
	if n >= 100 {
		figure.Against(os.Stdout, name, milliseconds(done.Sub(last)), "ms", milliseconds(floor), 1.5)
	} else { // the reconciler waits for the end of a burst, so the floor doesn't matter
		figure.AtMost(os.Stdout, name, milliseconds(done.Sub(last)), "ms", originals)
	}
	b.ReportMetric(milliseconds(last.Sub(first)), "ms-creating")
	b.ReportMetric(milliseconds(floor), "ms-floor")
}

// floor measures the time of the necessary writes, on Services that the reconciler ignores.
func (w *bench) floor(b *testing.B, all []string) time.Duration {
	sideBySide(b, all, func(name string) error {
		svc := channel(name, "nobody")
		svc.Annotations = nil
		svc.Spec.LoadBalancerClass = ptr.To("example.com/nobody")
		_, err := w.client.CoreV1().Services("app").Create(b.Context(), svc, metav1.CreateOptions{})
		return err
	})
	status := []byte(
		`{"metadata":{"annotations":{"example.com/ports":"http:80->20000"}},"status":{"loadBalancer":{"ingress":` +
			`[{"ip":"192.0.2.1","ipMode":"Proxy"}]},"conditions":[{"type":"example.com/Accepted","status":"True",` +
			`"reason":"Accepted",` +
			`"message":"all ports have a number","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	begin := time.Now()
	patched := make(chan struct{})
	go func() {
		defer close(patched)
		sideBySide(b, all, func(name string) error {
			_, err := w.client.CoreV1().Services("app").Patch(b.Context(), name, types.StrategicMergePatchType, status,
				metav1.PatchOptions{}, "status")
			return err
		})
	}()
	sideBySide(b, all, func(name string) error {
		slice := source(name)
		slice.Labels[discoveryv1.LabelServiceName] = "nobody"
		_, err := w.client.DiscoveryV1().EndpointSlices("app").Create(b.Context(), slice, metav1.CreateOptions{})
		return err
	})
	<-patched
	return time.Since(begin)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// BenchmarkSingleChanges measures single changes with 100 channels, and 100 more that name a missing mux. The changes
// are a deleted channel, whose port must leave the mux; drift, which must be corrected; and a new provider address,
// which must reach every channel.
func BenchmarkSingleChanges(b *testing.B) {
	for b.Loop() {
		w := start(b)
		w.mux(b, "mux")
		w.run(b)
		all := names("app", 100)
		w.sources(b, all)
		w.channels(b, "mux", all)
		w.channels(b, "missing", names("lost", 100))
		w.eyes.await(b, "all channels", programmed(all))
		rest := func() { time.Sleep(2 * time.Second) } // until the passes after a change are over
		rest()

		figure.AtMost(os.Stdout, "reconciler/deleted-port-gone", milliseconds(w.deletion(b, all[99])), "ms", 1000)
		rest()
		figure.AtMost(os.Stdout, "reconciler/drift-put-right", milliseconds(w.drift(b)), "ms", 1000)
		rest()
		figure.AtMost(os.Stdout, "reconciler/new-address-everywhere", milliseconds(w.readdress(b, all[:99])), "ms", 1000)
	}
}

func (w *bench) deletion(b *testing.B, name string) time.Duration {
	w.eyes.mu.Lock()
	had := len(w.eyes.service(space + "/mux").Spec.Ports)
	w.eyes.mu.Unlock()
	begin := time.Now()
	must(b, w.client.CoreV1().Services("app").Delete(b.Context(), name, metav1.DeleteOptions{}))
	return w.eyes.await(b, "the port is gone", func(e *eyes) bool {
		return len(e.service(space+"/mux").Spec.Ports) == had-1
	}).Sub(begin)
}

func (w *bench) drift(b *testing.B) time.Duration {
	time.Sleep(2 * time.Second)
	w.eyes.mu.Lock()
	had := len(w.eyes.service(space + "/mux").Spec.Ports)
	w.eyes.mu.Unlock()
	begin := time.Now()
	changed, err := w.client.CoreV1().Services(space).Patch(b.Context(), "mux", types.JSONPatchType,
		[]byte(`[{"op":"remove","path":"/spec/ports/0"}]`), metav1.PatchOptions{})
	must(b, err)
	return w.eyes.await(b, "the port is back", func(e *eyes) bool {
		svc := e.service(space + "/mux")
		return svc.ResourceVersion != changed.ResourceVersion && len(svc.Spec.Ports) == had
	}).Sub(begin)
}

func (w *bench) readdress(b *testing.B, all []string) time.Duration {
	time.Sleep(2 * time.Second)
	const other = "203.0.113.77"
	w.Provider.BehaveTo(space+"/mux", provider.Wait)
	svc, err := w.client.CoreV1().Services(space).Get(b.Context(), "mux", metav1.GetOptions{})
	must(b, err)
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: other}}
	_, err = w.client.CoreV1().Services(space).UpdateStatus(b.Context(), svc, metav1.UpdateOptions{})
	must(b, err)
	begin := time.Now()
	return w.eyes.await(b, "the new address on every channel", func(e *eyes) bool {
		for _, name := range all {
			ingress := e.service("app/" + name).Status.LoadBalancer.Ingress
			if len(ingress) != 1 || ingress[0].IP != other {
				return false
			}
		}
		return true
	}).Sub(begin)
}
