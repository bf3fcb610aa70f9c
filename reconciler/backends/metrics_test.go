package backends

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/reconciler/pace"
)

// TestRepeatedCorrectionsAreCounted counts neither the first correction, which may be the last, nor one that must wait,
// nor a write that corrects nothing.
func TestRepeatedCorrectionsAreCounted(t *testing.T) {
	b := start(t)
	b.Metrics.set(decided().Mux, true)
	for i, wait := range []time.Duration{0, 0, pace.FirstPause, 0, 2 * pace.FirstPause} {
		b.clock = b.clock.Add(wait)
		other := step(project.Update, "b")
		other.Slice.Labels["count"] = strconv.Itoa(i)
		if _, err := b.apply(t.Context(), decided(step(project.Update, "a"), other)); err != nil {
			t.Fatal(err)
		}
	}
	if got := seriesOf(t, b.Metrics); got["svc_lb_mux_backends_repeated_corrections_total"] != 2 ||
		got["svc_lb_mux_backends_slice_writes_total"] != 9 {
		t.Errorf("series: %v", got)
	}
}

// TestSeriesOfAMuxGoWithIt counts endpoints and refusals of two channels, of which one leaves and one stays.
func TestSeriesOfAMuxGoWithIt(t *testing.T) {
	m := NewMetrics()
	mux, other := types.NamespacedName{Name: "mux"}, types.NamespacedName{Name: "other"}
	web, api := types.NamespacedName{Name: "web"}, types.NamespacedName{Name: "api"}
	m.carry(web, mux, load{9, 9}) // before it is a mux
	m.set(mux, true)
	m.carry(web, mux, load{2, 1})
	m.carry(api, mux, load{3, 1})
	want := func(endpoints, refused float64) {
		t.Helper()
		got := seriesOf(t, m)
		if got["svc_lb_mux_backends_endpoints"] != endpoints || got["svc_lb_mux_backends_refused_slices"] != refused {
			t.Errorf("series: %v", got)
		}
	}
	want(5, 2)
	m.carry(web, other, load{2, 1})
	want(3, 1)
	m.set(mux, true)
	want(3, 1)
	m.wrote(other, project.Create, false)
	m.set(mux, false)
	if got := seriesOf(t, m); len(got) != 0 {
		t.Errorf("series are left: %v", got)
	}
}

func seriesOf(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			sums[family.GetName()] += metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return sums
}

// TestEndpointsAreCountedOnceClaimsAreKnown: until then a pass carries nothing, and the mux keeps its slices.
func TestEndpointsAreCountedOnceClaimsAreKnown(t *testing.T) {
	l, c := victim(t, 0)
	key := types.NamespacedName{Namespace: "app", Name: "web"}
	l.Writer, l.Tell = taking{}, func(plan.Event) {}
	l.Metrics.set(types.NamespacedName{Namespace: "svc-mux", Name: "mux"}, true)
	claims := l.Claims
	endpoints := func() float64 {
		t.Helper()
		if _, err := l.Reconcile(t.Context(), request(key)); err != nil {
			t.Fatal(err)
		}
		return seriesOf(t, l.Metrics)["svc_lb_mux_backends_endpoints"]
	}
	if got := endpoints(); got != 1 {
		t.Errorf("with a claim: %v endpoints", got)
	}
	l.Claims = func(_, _ types.NamespacedName) ([]plan.Claim, bool) { return nil, false }
	if got := endpoints(); got != 1 {
		t.Errorf("while claims aren't known: %v endpoints", got)
	}
	l.Claims = func(_, _ types.NamespacedName) ([]plan.Claim, bool) { return nil, true }
	if got := endpoints(); got != 0 {
		t.Errorf("without a claim: %v endpoints", got)
	}
	l.Claims = claims
	if got := endpoints(); got != 1 {
		t.Errorf("with the claim again: %v endpoints", got)
	}
	mux, _, _ := c.of(&corev1.Service{}).GetByKey("svc-mux/mux")
	plain := mux.(*corev1.Service).DeepCopy()
	plain.Annotations = nil
	if err := c.of(plain).Update(plain); err != nil {
		t.Fatal(err)
	}
	l.Claims = func(_, _ types.NamespacedName) ([]plan.Claim, bool) { return nil, false }
	if got := endpoints(); got != 0 {
		t.Errorf("once it is no mux: %v endpoints", got)
	}
}

// taking is a writer that accepts every write.
type taking struct{ client.Writer }

func (taking) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

func (taking) Delete(context.Context, client.Object, ...client.DeleteOption) error { return nil }
