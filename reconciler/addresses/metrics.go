package addresses

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"nowake.ai/svc-lb-mux/reconciler/addresses/decide"
)

// Metrics are the figures of pools, and counts of writes. A nil Metrics counts nothing.
type Metrics struct {
	mu    sync.Mutex
	pools map[string]decide.Figures

	writes                                         *prometheus.CounterVec
	claims, addresses, gateways, uncarried, frozen *prometheus.Desc
}

// NewMetrics makes metrics. The caller registers them.
func NewMetrics() *Metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("svc_lb_mux_"+name, help, append([]string{"pool"}, labels...), nil)
	}
	return &Metrics{
		pools: map[string]decide.Figures{},
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_gateway_writes_total", Help: "Writes of the gateways' controller, by kind (claims, status).",
		}, []string{"kind"}),
		claims: desc("pool_claims", "Claims of muxes in the pool, by state: held, or released and still reserved.",
			"state"),
		addresses: desc("pool_addresses", "Addresses in the pool. A pool with more than 65536 counts as 65536."),
		gateways: desc("pool_gateways", "Gateways of the pool, by state: live, or stale if the Lease wasn't renewed in "+
			"time.", "state"),
		uncarried: desc("pool_uncarried_muxes", "Muxes that show an address which no live gateway carries."),
		frozen:    desc("pool_frozen", "1 while the pool's claims can't be read, so that nothing is decided."),
	}
}

func (m *Metrics) decided(pool string, figures decide.Figures) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pools[pool] = figures
}

func (m *Metrics) wrote(kind string) {
	if m != nil {
		m.writes.WithLabelValues(kind).Inc()
	}
}

// Describe is for prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.writes.Describe(ch)
	for _, d := range []*prometheus.Desc{m.claims, m.addresses, m.gateways, m.uncarried, m.frozen} {
		ch <- d
	}
}

// Collect is for prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.writes.Collect(ch)
	m.mu.Lock()
	defer m.mu.Unlock()
	for pool, f := range m.pools {
		gauge := func(d *prometheus.Desc, value int, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), append([]string{pool}, labels...)...)
		}
		gauge(m.claims, f.Held, "held")
		gauge(m.claims, f.Released, "released")
		gauge(m.addresses, f.Size)
		gauge(m.gateways, f.Live, "live")
		gauge(m.gateways, f.Gateways-f.Live, "stale")
		gauge(m.uncarried, f.Uncarried)
		frozen := 0
		if f.IsFrozen {
			frozen = 1
		}
		gauge(m.frozen, frozen)
	}
}
