package certs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type fileMetrics struct {
	expiry   prometheus.Gauge
	reloads  prometheus.Counter
	failures prometheus.Counter
}

func newFileMetrics(registry prometheus.Registerer) fileMetrics {
	m := fileMetrics{
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "svc_lb_mux_certificate_expiry_timestamp_seconds",
			Help: "When the served certificate expires, in seconds since 1970; 0 if none is loaded.",
		}),
		reloads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "svc_lb_mux_certificate_loads_total",
			Help: "New serving certificates loaded, the first one included.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "svc_lb_mux_certificate_load_failures_total",
			Help: "Reads of the certificate's files that found nothing usable. It grows while that lasts.",
		}),
	}
	registry.MustRegister(m.expiry, m.reloads, m.failures)
	return m
}

func (m fileMetrics) loaded(notAfter time.Time) {
	m.expiry.Set(float64(notAfter.Unix()))
	m.reloads.Inc()
}
