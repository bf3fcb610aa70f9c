package run

import (
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// metrics counts decisions and writes. When a mux is gone, its series are dropped. No label names a port or a channel:
// that would make a series for each channel.
type metrics struct {
	now func() time.Time

	mu    sync.Mutex
	muxes map[types.NamespacedName]*muxFigures

	decide, apply, programmed prometheus.Histogram
	writes                    *prometheus.CounterVec

	gauges   []gauge
	channels *prometheus.Desc
	frozenBy *prometheus.Desc
	freezes  *prometheus.Desc
	repeated *prometheus.Desc
}

// muxFigures are the figures of one mux.
type muxFigures struct {
	usage    plan.Usage
	verdicts map[[2]string]int // by verdict and reason
	frozen   bool
	frozenBy validation.Reason
	freezes  int
	repeated int
}

// exists is false for a mux that doesn't exist but that channels name. Such a mux has only the figures of its channels,
// since channels may name any mux.
func (f *muxFigures) exists() bool { return f.usage.Limit > 0 }

// gauge is a figure that every mux has.
type gauge struct {
	desc  *prometheus.Desc
	value func(*muxFigures) float64
}

func newMetrics(registry prometheus.Registerer, now func() time.Time) *metrics {
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	m := &metrics{
		now: now, muxes: map[types.NamespacedName]*muxFigures{},
		decide: histogram("svc_lb_mux_plan_duration_seconds", "Time to decide about a mux.",
			append([]float64{.0001, .00025, .0005}, seconds...)),
		apply: histogram("svc_lb_mux_apply_duration_seconds",
			"Time to carry out a plan for a mux, if there was anything to write.", seconds),
		programmed: histogram("svc_lb_mux_channel_programmed_seconds",
			"Time from a channel's creation until it showed an address for the first time.",
			append(seconds, 30, 60, 120, 300)),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_lb_mux_writes_total", Help: "Writes on mux, ledger and channels, by kind.",
		}, []string{"kind"}),
	}
	m.describe()
	registry.MustRegister(m.decide, m.apply, m.programmed, m.writes, m)
	return m
}

func (m *metrics) describe() {
	mux := []string{"mux_namespace", "mux"}
	add := func(name, help string, value func(*muxFigures) float64) {
		m.gauges = append(m.gauges, gauge{prometheus.NewDesc("svc_lb_mux_"+name, help, mux, nil), value})
	}
	add("ports_held", "Ports that channels hold, those of disabled channels included.",
		func(f *muxFigures) float64 { return float64(f.usage.Held) })
	add("ports_in_grace", "Numbers that are held in grace for their former channels.",
		func(f *muxFigures) float64 { return float64(f.usage.InGrace) })
	add("ports_foreign", "Ports that aren't ours, a placeholder that stays included.",
		func(f *muxFigures) float64 { return float64(f.usage.Foreign) })
	add("ports_limit", "Ports that the mux may have.", func(f *muxFigures) float64 { return float64(f.usage.Limit) })
	add("port_range_size", "Numbers in the range for auto ports.",
		func(f *muxFigures) float64 { return float64(f.usage.RangeSize) })
	add("port_range_free", "Numbers in the range for auto ports that are free for TCP.",
		func(f *muxFigures) float64 { return float64(f.usage.RangeFree) })
	add("frozen", "1 while the mux is frozen.", func(f *muxFigures) float64 {
		if f.frozen {
			return 1
		}
		return 0
	})
	m.channels = prometheus.NewDesc("svc_lb_mux_channels",
		"Channels of the mux, by verdict (accepted, refused) and reason.",
		append(mux, "verdict", "reason"), nil)
	m.frozenBy = prometheus.NewDesc("svc_lb_mux_freeze_info",
		"1 while the mux is frozen, with the reason as a label. A mux that isn't frozen has no such series.",
		append(mux, "reason"), nil)
	m.freezes = prometheus.NewDesc("svc_lb_mux_freezes_total", "How often the mux was frozen.", mux, nil)
	m.repeated = prometheus.NewDesc("svc_lb_mux_repeated_corrections_total",
		"How often the mux, or one of its channels, was corrected again soon after the last correction: another writer "+
			"keeps changing it.",
		mux, nil)
}

// Describe is for prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range m.gauges {
		ch <- g.desc
	}
	ch <- m.channels
	ch <- m.frozenBy
	ch <- m.freezes
	ch <- m.repeated
}

// Collect is for prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, figures := range m.muxes {
		for verdict, count := range figures.verdicts {
			ch <- prometheus.MustNewConstMetric(m.channels, prometheus.GaugeValue, float64(count), key.Namespace, key.Name,
				verdict[0], verdict[1])
		}
		if figures.exists() || figures.repeated > 0 {
			ch <- prometheus.MustNewConstMetric(m.repeated, prometheus.CounterValue, float64(figures.repeated), key.Namespace,
				key.Name)
		}
		if !figures.exists() {
			continue
		}
		for _, g := range m.gauges {
			ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(figures), key.Namespace, key.Name)
		}
		if figures.frozen {
			ch <- prometheus.MustNewConstMetric(m.frozenBy, prometheus.GaugeValue, 1, key.Namespace, key.Name,
				string(figures.frozenBy))
		}
		ch <- prometheus.MustNewConstMetric(m.freezes, prometheus.CounterValue, float64(figures.freezes), key.Namespace,
			key.Name)
	}
}

// Decided records the figures of a plan.
func (m *metrics) Decided(p *plan.Plan, took time.Duration) {
	m.decide.Observe(took.Seconds())
	verdicts := map[[2]string]int{}
	for i := range p.Verdicts {
		word := "refused"
		if p.Verdicts[i].Accepted {
			word = "accepted"
		}
		verdicts[[2]string{word, string(p.Verdicts[i].Reason)}]++
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	figures := m.muxes[p.Mux]
	if figures == nil || figures.exists() && p.Usage.Limit == 0 {
		figures = &muxFigures{}
		m.muxes[p.Mux] = figures
	}
	if p.Freeze != nil && !figures.frozen {
		figures.freezes++
	}
	figures.usage, figures.verdicts, figures.frozen = p.Usage, verdicts, p.Freeze != nil
	if p.Freeze != nil {
		figures.frozenBy = p.Freeze.Reason
	}
}

// Repeated counts a repeated correction of a mux or of one of its channels.
func (m *metrics) Repeated(mux types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if figures := m.muxes[mux]; figures != nil { // without figures, the mux is gone
		figures.repeated++
	}
}

// Applied records how long it took to carry out a plan.
func (m *metrics) Applied(_ types.NamespacedName, took time.Duration) {
	m.apply.Observe(took.Seconds())
}

// Wrote counts a write.
func (m *metrics) Wrote(kind string) { m.writes.WithLabelValues(kind).Inc() }

// Programmed records that a channel has its first address.
func (m *metrics) Programmed(channel *plan.ObservedChannel) {
	m.programmed.Observe(m.now().Sub(channel.Created).Seconds())
}

// Forget drops the series of a mux that is gone.
func (m *metrics) Forget(mux types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.muxes, mux)
}

// newRegistry returns a registry with the metrics of the process. The Go runtime's are in controller-runtime's
// registry.
func newRegistry(version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "svc_lb_mux_build_info", Help: "1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{"component": "reconciler", "version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	registry.MustRegister(build)
	return registry
}
