package balancer

import (
	"github.com/prometheus/client_golang/prometheus"

	"nowake.ai/svc-lb-mux/balancer/lease"
	"nowake.ai/svc-lb-mux/balancer/table"
)

// Metrics are an agent's metrics.
type Metrics struct {
	Registry             *prometheus.Registry
	passes, transactions prometheus.Histogram
	rebuilt, restored    prometheus.Counter
	leaseErrors          prometheus.Counter
	seats, muxes         prometheus.Gauge
	refusals, faults     prometheus.Gauge
	traffic              *traffic
}

// NewMetrics returns metrics in a registry of their own.
func NewMetrics() *Metrics {
	buckets := prometheus.ExponentialBuckets(0.0001, 4, 8)
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "svc_lb_mux_gateway_" + name, Help: help,
			Buckets: buckets})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_lb_mux_gateway_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "svc_lb_mux_gateway_" + name, Help: help})
	}
	m := &Metrics{
		Registry:     prometheus.NewRegistry(),
		passes:       histogram("pass_seconds", "Time of a pass: observe, decide and apply."),
		transactions: histogram("transaction_seconds", "Time of a transaction of nftables, reading included."),
		rebuilt:      counter("tables_rebuilt_total", "How often a table was made from nothing."),
		restored:     counter("tables_restored_total", "How often another process changed our tables."),
		leaseErrors:  counter("lease_errors_total", "How often the gateway's Lease could not be written."),
		seats:        gauge("seats_held", "Seats that this gateway holds."),
		muxes:        gauge("muxes_programmed", "Muxes with an address whose ports are in the kernel."),
		refusals:     gauge("refusals", "Parts of muxes that are not carried."),
		faults:       gauge("faults", "Faults of the whole machine."),
		traffic:      newTraffic(),
	}
	m.Registry.MustRegister(m.passes, m.transactions, m.rebuilt, m.restored, m.leaseErrors, m.seats, m.muxes, m.refusals,
		m.faults,
		m.traffic)
	return m
}

// CountTraffic sets the function that reads the counts of connections, packets and bytes. Call it before the metrics
// are served.
func (m *Metrics) CountTraffic(read func() ([]table.Count, error)) { m.traffic.read = read }

// note sets the gauges from a report.
func (m *Metrics) note(r *lease.Report) {
	programmed, refused := 0, 0
	for i := range r.Muxes {
		if len(r.Muxes[i].Programmed) > 0 {
			programmed++
		}
		refused += len(r.Muxes[i].Refused)
	}
	m.seats.Set(float64(len(r.Holds)))
	m.muxes.Set(float64(programmed))
	m.refusals.Set(float64(refused))
	m.faults.Set(float64(len(r.Faults)))
}
