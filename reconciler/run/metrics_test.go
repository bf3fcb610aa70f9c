package run

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
	"nowake.ai/svc-lb-mux/reconciler/console"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// borrowed are metrics of controller-runtime that alerts and the dashboard use.
var borrowed = []string{
	"controller_runtime_reconcile_errors_total", "leader_election_master_status", "rest_client_requests_total",
	"process_cpu_seconds_total", "process_resident_memory_bytes",
}

// TestMetricNamesAndLabels lists all metrics with their labels, as the process registers them. Names and labels are
// part of the API. Tests compare alerts, dashboard and docs with this list.
func TestMetricNamesAndLabels(t *testing.T) {
	process := Process{
		Options: DefaultOptions(func(string) string { return "" }), Config: &rest.Config{Host: "http://127.0.0.1:1"},
		Version: "v0-test", Logs: io.Discard, Now: time.Now,
	}
	m, err := process.manager(logr.Discard(), false)
	if err != nil {
		t.Fatal(err)
	}
	registry, timeline := newRegistry(process.Version), console.NewTimeline(time.Now)
	out := outputs{events: silentRecorder{}}
	terms, err := process.newTerms(t.Context(), m, timeline, out, nil, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	process.Options.WebhookConfiguration = "svc-mux"
	watching, err := process.addGuard(m, registry, terms.leads.Load, nil, out.events)
	if err != nil {
		t.Fatal(err)
	}
	process.Options.ConsoleAddress = "127.0.0.1:0"
	if err := process.addConsole(m, terms, timeline, watching, registry, logr.Discard()); err != nil {
		t.Fatal(err)
	}
	all := func(string) bool { return true }
	list := append(described(registry, all), described(terms.current.Load().registry, all)...)
	list = append(list, described(crmetrics.Registry.(prometheus.Collector), func(name string) bool {
		return slices.Contains(borrowed, name)
	})...)
	slices.Sort(list)
	golden.File(t, "testdata/metrics.txt", strings.Join(list, ""))
}

// described returns the metrics of a collector, one per line: the name, and the labels in their order.
func described(from prometheus.Collector, wanted func(name string) bool) []string {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		from.Describe(descs)
	}()
	var lines []string
	for desc := range descs {
		name := between(desc.String(), `fqName: "`, `"`)
		if !wanted(name) {
			continue
		}
		var labels []string
		for constant := range strings.SplitSeq(between(desc.String(), "constLabels: {", "}"), ",") {
			label, _, _ := strings.Cut(constant, "=")
			labels = append(labels, label)
		}
		labels = append(labels, strings.Split(between(desc.String(), "variableLabels: {", "}"), ",")...)
		labels = slices.DeleteFunc(labels, func(label string) bool { return label == "" })
		lines = append(lines, name+" {"+strings.Join(labels, ",")+"}\n")
	}
	slices.Sort(lines)
	return lines
}

// between cuts a part out of a description's text, because descriptions have no other accessors.
func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	part, _, _ := strings.Cut(rest, to)
	return part
}

// TestMetricsOfAMux checks a mux's series in the course of its life.
func TestMetricsOfAMux(t *testing.T) {
	key := types.NamespacedName{Namespace: "infra", Name: "mux"}
	usage := plan.Usage{Limit: 4}
	well, frozen := &plan.Plan{Mux: key, Usage: usage},
		&plan.Plan{Mux: key, Usage: usage, Freeze: &plan.Freeze{Reason: plan.MuxPaused}}
	missing := plan.Mux(plan.World{Key: key, Channels: []plan.ObservedChannel{{}}}, plan.Memory{})
	const mux = `{mux="mux",mux_namespace="infra"}`
	const limit = "ports_limit" + mux + " 4"
	const named = `channels{mux="mux",mux_namespace="infra",reason="MuxNotFound",verdict="refused"} 1`
	for name, c := range map[string]struct {
		life func(*metrics)
		want []string
	}{
		"a mux without a decision has no series": {
			life: func(m *metrics) { m.Repeated(key) },
		},
		"a healthy mux has no reason": {
			life: func(m *metrics) { m.Decided(well, 0) },
			want: []string{"freezes_total" + mux + " 0", "frozen" + mux + " 0", limit,
				"repeated_corrections_total" + mux + " 0"},
		},
		"a frozen mux has a reason, and each freeze counts once": {
			life: func(m *metrics) { m.Decided(frozen, 0); m.Decided(frozen, 0) },
			want: []string{
				`freeze_info{mux="mux",mux_namespace="infra",reason="MuxPaused"} 1`,
				"freezes_total" + mux + " 1", "frozen" + mux + " 1", limit, "repeated_corrections_total" + mux + " 0",
			},
		},
		"a thawed mux has no reason, and keeps its counter": {
			life: func(m *metrics) { m.Decided(frozen, 0); m.Decided(well, 0) },
			want: []string{"freezes_total" + mux + " 1", "frozen" + mux + " 0", limit,
				"repeated_corrections_total" + mux + " 0"},
		},
		"repeated corrections are counted": {
			life: func(m *metrics) { m.Decided(well, 0); m.Repeated(key); m.Repeated(key) },
			want: []string{"freezes_total" + mux + " 0", "frozen" + mux + " 0", limit,
				"repeated_corrections_total" + mux + " 2"},
		},
		"the series of a deleted mux are deleted": {
			life: func(m *metrics) { m.Decided(frozen, 0); m.Repeated(key); m.Forget(key) },
		},
		"a missing mux has only its channels": {
			life: func(m *metrics) { m.Decided(missing, 0) },
			want: []string{named},
		},
		"a deleted mux has only its channels": {
			life: func(m *metrics) { m.Decided(frozen, 0); m.Repeated(key); m.Decided(missing, 0); m.Decided(missing, 0) },
			want: []string{named},
		},
		"repeated corrections of a missing mux's channels are counted": {
			life: func(m *metrics) { m.Decided(missing, 0); m.Repeated(key); m.Decided(missing, 0) },
			want: []string{named, "repeated_corrections_total" + mux + " 1"},
		},
		"a recreated mux starts with new counters": {
			life: func(m *metrics) { m.Decided(frozen, 0); m.Decided(missing, 0); m.Decided(well, 0) },
			want: []string{"freezes_total" + mux + " 0", "frozen" + mux + " 0", limit,
				"repeated_corrections_total" + mux + " 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			m := newMetrics(registry, time.Now)
			c.life(m)
			got := shown(t, registry, "channels", "freeze_info", "freezes_total", "frozen", "ports_limit",
				"repeated_corrections_total")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// shown returns the values of some series, in the exposition format.
func shown(t *testing.T, registry *prometheus.Registry, names ...string) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if slices.Contains(names, strings.TrimPrefix(family.GetName(), "svc_lb_mux_")) {
			if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
				t.Fatal(err)
			}
		}
	}
	var lines []string
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "svc_lb_mux_"))
		}
	}
	return lines
}
