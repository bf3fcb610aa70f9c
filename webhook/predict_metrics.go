package webhook

import (
	"github.com/prometheus/client_golang/prometheus"

	"nowake.ai/svc-lb-mux/validation"
)

// The reasons for answering a review without predictions.
const (
	skippedUnready = "unready" // the objects that predictions need weren't read yet, or can't be read any more
	skippedBusy    = "busy"    // the prediction takes too long, or waits too long for others to end
	skippedLarge   = "large"   // the objects have too many ports
	skippedBroken  = "broken"  // the prediction panicked, see the log
)

type predictionMetrics struct {
	readyGauge  prometheus.Gauge
	predictions *prometheus.CounterVec
	skips       *prometheus.CounterVec
	duration    prometheus.Histogram
}

// newPredictionMetrics registers the metrics. It is called only if predictions are on.
func newPredictionMetrics(registry prometheus.Registerer) predictionMetrics {
	m := predictionMetrics{
		readyGauge: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "svc_lb_mux_admission_predictions_ready",
			Help: "1 while Services are known and can be read, so that predictions are made; else 0.",
		}),
		predictions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_admission_predictions_total",
			Help: "Predictions in answers, by reason and by decision (warned, denied).",
		}, []string{"reason", "decision"}),
		skips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_admission_predictions_skipped_total",
			Help: "Reviews answered without predictions: Services weren't read (unready), the prediction took too long " +
				"(busy), the objects have too many ports (large), or a panic (broken).",
		}, []string{"why"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "svc_lb_mux_admission_prediction_duration_seconds",
			Help:    "Time that the predictions of a review took.",
			Buckets: []float64{.00001, .0001, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
	}
	registry.MustRegister(m.readyGauge, m.predictions, m.skips, m.duration)
	return m
}

func (m predictionMetrics) ready(is bool) {
	m.readyGauge.Set(0)
	if is {
		m.readyGauge.Set(1)
	}
}

func (m predictionMetrics) predicted(reason validation.Reason, decision Decision) {
	m.predictions.WithLabelValues(string(reason), string(decision)).Inc()
}

func (m predictionMetrics) skipped(why string) { m.skips.WithLabelValues(why).Inc() }
