package backends

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/backends/project"
)

// Metrics is a prometheus.Collector for the caller to register. Each series belongs to a mux, and is dropped with it.
type Metrics struct {
	endpoints, writes, repeats, refusals *prometheus.Desc

	mu    sync.Mutex
	muxes map[types.NamespacedName]*tally
}

// tally holds the counts of a mux.
type tally struct {
	channels map[types.NamespacedName]load
	writes   map[project.Op]int
	repeats  int
}

// load holds the counts of a channel on its mux.
type load struct{ endpoints, refused int }

// NewMetrics returns metrics that have no values yet. The caller registers them.
func NewMetrics() *Metrics {
	mux := []string{"mux_namespace", "mux"}
	return &Metrics{
		endpoints: prometheus.NewDesc("svc_lb_mux_backends_endpoints",
			"Endpoints that are carried on the mux, ready or not.", mux, nil),
		writes: prometheus.NewDesc("svc_lb_mux_backends_slice_writes_total",
			"EndpointSlices of the mux written, by operation: create, update or delete.", append(mux, "operation"), nil),
		repeats: prometheus.NewDesc("svc_lb_mux_backends_repeated_corrections_total",
			"Corrections of a slice of the mux soon after the last one: another writer keeps changing it.", mux, nil),
		refusals: prometheus.NewDesc("svc_lb_mux_backends_refused_slices",
			"EndpointSlices of the mux that can't be written now: their backends aren't reached.", mux, nil),
		muxes: map[types.NamespacedName]*tally{},
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range [...]*prometheus.Desc{m.endpoints, m.writes, m.repeats, m.refusals} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for mux, t := range m.muxes {
		send := func(desc *prometheus.Desc, kind prometheus.ValueType, n int, more ...string) {
			ch <- prometheus.MustNewConstMetric(desc, kind, float64(n), append([]string{mux.Namespace, mux.Name}, more...)...)
		}
		var all load
		for _, l := range t.channels {
			all.endpoints += l.endpoints
			all.refused += l.refused
		}
		send(m.endpoints, prometheus.GaugeValue, all.endpoints)
		send(m.refusals, prometheus.GaugeValue, all.refused)
		send(m.repeats, prometheus.CounterValue, t.repeats)
		for op, n := range t.writes {
			send(m.writes, prometheus.CounterValue, n, op.String())
		}
	}
}

// carry sets the counts of a channel on its mux, and removes them from all other muxes.
func (m *Metrics) carry(channel, mux types.NamespacedName, now load) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, t := range m.muxes {
		delete(t.channels, channel)
		if key == mux {
			t.channels[channel] = now
		}
	}
}

// wrote counts a write of a slice, and whether it repeats the correction of a drift. On a Service that isn't a mux any
// more, deletions of the last slices aren't counted: it has no series.
func (m *Metrics) wrote(mux types.NamespacedName, op project.Op, repeats bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.muxes[mux]
	if t == nil {
		return
	}
	t.writes[op]++
	if repeats {
		t.repeats++
	}
}

// set begins the series of a Service that has become a mux, and ends those of one that isn't a mux any more.
func (m *Metrics) set(mux types.NamespacedName, isMux bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !isMux {
		delete(m.muxes, mux)
	} else if m.muxes[mux] == nil {
		m.muxes[mux] = &tally{channels: map[types.NamespacedName]load{}, writes: map[project.Op]int{}}
	}
}
