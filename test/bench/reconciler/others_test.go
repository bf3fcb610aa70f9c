package reconciler

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nowake.ai/svc-lb-mux/test/bench/figure"
)

// Objects with which a namespace's user may fill the namespace: ConfigMaps with a ledger's label, annotations of
// Services that are neither mux nor channel, and slices of a channel with references to missing objects.
const (
	othersConfigMaps = 300
	othersServices   = 500
	othersSlices     = 100
)

// BenchmarkWorstFilledByOthers measures how much the reconciler's memory grows while a user fills a namespace, and the
// memory of a successor that starts with the filled namespace. The baseline is the same process before.
func BenchmarkWorstFilledByOthers(b *testing.B) {
	for b.Loop() {
		w := start(b)
		w.mux(b, "mux")
		w.run(b)
		all := names("app", 100)
		w.sources(b, all)
		w.channels(b, "mux", all)
		w.eyes.await(b, "all channels", programmed(all))
		before := w.calm(b)
		w.fill(b)
		w.sources(b, []string{"last"}) // the reconciler's watch delivers this slice last
		w.channels(b, "mux", []string{"last"})
		w.eyes.await(b, "the last channel", programmed([]string{"last"}))
		after := w.calm(b)
		must(b, w.process.Stop(b.Context()))
		w.run(b)
		w.sources(b, []string{"later"})
		w.channels(b, "mux", []string{"later"})
		w.eyes.await(b, "a channel of the successor's", programmed([]string{"later"}))
		restarted := w.calm(b)
		figure.AtMost(os.Stdout, "reconciler/memory-filled-by-others", after-before, "MiB", 64)
		figure.AtMost(os.Stdout, "reconciler/memory-filled-by-others-restarted", restarted-before, "MiB", 64)
		b.Logf("%.1f MiB before, %.1f MiB once filled, %.1f MiB after a restart", before, after, restarted)
	}
}

// calm returns the resident memory after a few seconds, in which garbage can be collected.
func (w *bench) calm(b *testing.B) float64 {
	time.Sleep(5 * time.Second)
	return w.usage(b).resident
}

func (w *bench) fill(b *testing.B) {
	much := strings.Repeat("x", 1<<20)
	sideBySide(b, names("ledger", othersConfigMaps), func(name string) error {
		_, err := w.client.CoreV1().ConfigMaps("app").Create(b.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				"app.kubernetes.io/name": "svc-lb-mux", "app.kubernetes.io/component": "mux-state",
			}, Annotations: map[string]string{prefix + "/mux": "app/mux"}},
			Data: map[string]string{"allocations.json": much[:1<<20-100]},
		}, metav1.CreateOptions{})
		return err
	})
	sideBySide(b, names("stranger", othersServices), func(name string) error {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{"example.com/note": much[:200<<10]}}}
		svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
		_, err := w.client.CoreV1().Services("app").Create(b.Context(), svc, metav1.CreateOptions{})
		return err
	})
	sideBySide(b, names("slice", othersSlices), func(name string) error {
		slice := source(name)
		slice.Labels[discoveryv1.LabelServiceName] = "app-00000"
		slice.Annotations = map[string]string{"example.com/note": much[:200<<10]}
		for i := range slice.Endpoints {
			slice.Endpoints[i].TargetRef.Name = fmt.Sprintf("%d-%s", i, much[:250<<10])
		}
		_, err := w.client.DiscoveryV1().EndpointSlices("app").Create(b.Context(), slice, metav1.CreateOptions{})
		return err
	})
}
