package backends

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	muxslices "nowake.ai/svc-lb-mux/reconciler/slices"
)

// Metrics is a prometheus.Collector for the caller to register. Its series are those of muxes, and go with them: never
// one for each channel.
type Metrics struct {
	endpoints, writes, repeats, refusals *prometheus.Desc

	mu      sync.Mutex
	carried map[types.NamespacedName]cargo // by channel
	refused map[types.NamespacedName]cargo // the same, of slices that the API server refuses
	written map[types.NamespacedName]map[muxslices.Op]int
	// repeated counts, for muxes that slices are written for.
	repeated map[types.NamespacedName]int
}

// cargo is what is counted of a channel on a mux.
type cargo struct {
	mux types.NamespacedName
	n   int
}

// NewMetrics counts from nothing.
func NewMetrics() *Metrics {
	mux := []string{"mux_namespace", "mux"}
	return &Metrics{
		endpoints: prometheus.NewDesc("svc_lb_mux_backends_endpoints",
			"Endpoints that are carried on the mux, ready or not.", mux, nil),
		writes: prometheus.NewDesc("svc_lb_mux_backends_slice_writes_total",
			"EndpointSlices of the mux written, by what was done: create, update or delete.", append(mux, "operation"), nil),
		repeats: prometheus.NewDesc("svc_lb_mux_backends_repeated_corrections_total",
			"How often a slice of the mux was put right again soon after the last time: somebody keeps changing it.", mux, nil),
		refusals: prometheus.NewDesc("svc_lb_mux_backends_refused_slices",
			"EndpointSlices of the mux that the API server doesn't take now: their backends aren't reached.", mux, nil),
		carried: map[types.NamespacedName]cargo{}, refused: map[types.NamespacedName]cargo{},
		written: map[types.NamespacedName]map[muxslices.Op]int{}, repeated: map[types.NamespacedName]int{},
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.endpoints
	ch <- m.writes
	ch <- m.repeats
	ch <- m.refusals
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sums := map[types.NamespacedName]int{}
	for _, c := range m.carried {
		sums[c.mux] += c.n
	}
	for mux, sum := range sums {
		ch <- prometheus.MustNewConstMetric(m.endpoints, prometheus.GaugeValue, float64(sum), mux.Namespace, mux.Name)
	}
	refused := map[types.NamespacedName]int{}
	for _, c := range m.refused {
		refused[c.mux] += c.n
	}
	for mux, counts := range m.written {
		ch <- prometheus.MustNewConstMetric(m.refusals, prometheus.GaugeValue, float64(refused[mux]), mux.Namespace, mux.Name)
		ch <- prometheus.MustNewConstMetric(m.repeats, prometheus.CounterValue, float64(m.repeated[mux]), mux.Namespace, mux.Name)
		for op, n := range counts {
			ch <- prometheus.MustNewConstMetric(m.writes, prometheus.CounterValue, float64(n), mux.Namespace, mux.Name, op.String())
		}
	}
}

// carry says what a channel has now; a mux without a name is none.
func (m *Metrics) carry(channel, mux types.NamespacedName, endpoints int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mux.Name == "" {
		delete(m.carried, channel)
		return
	}
	m.carried[channel] = cargo{mux, endpoints}
}

// refuse says how many slices of a channel the API server refuses on a mux.
func (m *Metrics) refuse(channel, mux types.NamespacedName, slices int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused[channel] = cargo{mux, slices}
	if slices == 0 || mux.Name == "" {
		delete(m.refused, channel)
	}
}

func (m *Metrics) wrote(mux types.NamespacedName, op muxslices.Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if counts := m.written[mux]; counts != nil { // else it is cleaned up after, and has no series any more
		counts[op]++
	}
}

// again counts a slice that was put right again.
func (m *Metrics) again(mux types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.written[mux] != nil { // as above
		m.repeated[mux]++
	}
}

// begin is called before anything is counted for a mux.
func (m *Metrics) begin(mux types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.written[mux] == nil {
		m.written[mux] = map[muxslices.Op]int{}
	}
}

// forget drops the series of a mux that is none any more.
func (m *Metrics) forget(mux types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.written, mux)
	delete(m.repeated, mux)
	for channel, c := range m.carried {
		if c.mux == mux {
			delete(m.carried, channel)
		}
	}
	for channel, c := range m.refused {
		if c.mux == mux {
			delete(m.refused, channel)
		}
	}
}
