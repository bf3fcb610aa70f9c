package webhook

import (
	"github.com/prometheus/client_golang/prometheus"

	"nowake.ai/svc-lb-mux/validation"
)

// Why a review is answered without predictions.
const (
	skippedUnready = "unready" // Services aren't known, or can't be read any more
	skippedBusy    = "busy"    // it would have taken too long
	skippedLarge   = "large"   // its objects have too many ports
	skippedBroken  = "broken"  // a panic, which the log has
)

type foresightMetrics struct {
	known    prometheus.Gauge
	spoken   *prometheus.CounterVec
	skips    *prometheus.CounterVec
	duration prometheus.Histogram
}

// newForesightMetrics are there only where predictions are made.
func newForesightMetrics(registry prometheus.Registerer) foresightMetrics {
	m := foresightMetrics{
		known: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "svc_lb_mux_admission_predictions_ready",
			Help: "1 while Services are known and can be read, so that predictions are made; else 0.",
		}),
		spoken: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_admission_predictions_total",
			Help: "Predictions told, by reason and by decision (warned, denied).",
		}, []string{"reason", "decision"}),
		skips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_admission_predictions_skipped_total",
			Help: "Reviews answered without predictions: Services aren't known (unready), it took too long (busy), its " +
				"objects have too many ports (large), or a panic (broken).",
		}, []string{"why"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "svc_lb_mux_admission_prediction_duration_seconds",
			Help:    "Time that the predictions of a review took.",
			Buckets: []float64{.00001, .0001, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
	}
	registry.MustRegister(m.known, m.spoken, m.skips, m.duration)
	return m
}

func (m foresightMetrics) ready(is bool) {
	m.known.Set(0)
	if is {
		m.known.Set(1)
	}
}

func (m foresightMetrics) told(reason validation.Reason, decision Decision) {
	m.spoken.WithLabelValues(string(reason), string(decision)).Inc()
}

func (m foresightMetrics) skipped(why string) { m.skips.WithLabelValues(why).Inc() }
