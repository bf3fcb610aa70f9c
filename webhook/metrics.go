package webhook

import (
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	admissionv1 "k8s.io/api/admission/v1"
)

type metrics struct {
	reviews  *prometheus.CounterVec
	denials  *prometheus.CounterVec
	failures *prometheus.CounterVec
	duration prometheus.Histogram
}

func newMetrics(registry prometheus.Registerer) metrics {
	m := metrics{
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_admission_reviews_total",
			Help: "Reviews answered, by operation, by kind of Service (mux, channel, both, stranger, or unread if the " +
				"Service wasn't needed or can't be decoded) and by decision (allowed, warned, denied).",
		}, []string{"operation", "kind", "decision"}),
		denials: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_admission_denials_total",
			Help: "Reviews denied, by reason; one with several reasons counts once for each.",
		}, []string{"reason"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_admission_failed_requests_total",
			Help: "Requests without an answer: not a review, too slow, or incomplete (4xx); reviews that failed (500); " +
				"reviews refused because those in progress used all memory set aside for them (503).",
		}, []string{"code"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "svc_lb_mux_admission_review_duration_seconds",
			Help:    "Time from a review's header to its answer, the reading of its body included.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
	}
	registry.MustRegister(m.reviews, m.denials, m.failures, m.duration)
	return m
}

func (m metrics) answered(operation admissionv1.Operation, answer Answer, took time.Duration) {
	m.duration.Observe(took.Seconds())
	m.reviews.WithLabelValues(operationLabel(operation), answer.Kind, string(answer.Decision())).Inc()
	for _, reason := range answer.Reasons {
		m.denials.WithLabelValues(reason).Inc()
	}
}

func (m metrics) refused(code int) {
	m.failures.WithLabelValues(strconv.Itoa(code)).Inc()
}

// operationLabel returns the operation, or "other" for an unknown one: a caller can send any text, and each label value
// makes a permanent time series.
func operationLabel(operation admissionv1.Operation) string {
	switch operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect:
		return string(operation)
	}
	return "other"
}

// newRegistry returns a registry with the metrics of the process itself.
func newRegistry(version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "svc_lb_mux_build_info", Help: "1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{"component": "webhook", "version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	registry.MustRegister(build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
