package backends

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// TestAFightIsCounted: not its first correction, which may be all there is, nor what isn't written because it must wait;
// and not what is no correction.
func TestAFightIsCounted(t *testing.T) {
	b := start(t)
	drifted := step(muxslices.Update, "a")
	drifted.Drift = true
	b.Metrics.begin(decided().Mux)
	for _, wait := range []time.Duration{0, time.Second, 0, 2 * time.Second} {
		b.clock = b.clock.Add(wait)
		if _, err := b.apply(t.Context(), decided(drifted, step(muxslices.Update, "b"))); err != nil {
			t.Fatal(err)
		}
	}
	want := `
# HELP svc_lb_mux_backends_repeated_corrections_total How often a slice of the mux was put right again soon after the last time: somebody keeps changing it.
# TYPE svc_lb_mux_backends_repeated_corrections_total counter
svc_lb_mux_backends_repeated_corrections_total{mux="mux",mux_namespace="svc-mux"} 2
`
	if err := testutil.CollectAndCompare(b.Metrics, strings.NewReader(want), "svc_lb_mux_backends_repeated_corrections_total"); err != nil {
		t.Error(err)
	}
}
