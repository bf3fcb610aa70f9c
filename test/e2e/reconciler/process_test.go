package reconciler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	reconciler "nowake.ai/svc-lb-mux/reconciler/run"
	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/faults"
)

// TestProcess tests a process's metrics, probes, log and settings.
func TestProcess(t *testing.T) {
	t.Parallel()
	s := &scene{world: start(t, cluster.APIServerOnly())}
	t.Run("metrics of a mux appear and disappear with the mux", func(t *testing.T) { s.metricsOfAMux(t) })
	t.Run("a process that starts during an outage waits for the API server", func(t *testing.T) { s.startsEarly(t) })
	t.Run("prefix and namespaces can be set by the environment", func(t *testing.T) { s.environment(t) })
}

func (s *scene) metricsOfAMux(t *testing.T) {
	mux := s.mux(t, "measured", annotated("max-ports", "4"), annotated("port-range", "20000-20009"))
	run := s.reconcile(t, func(p *reconciler.Process) { p.Options.LogLevel = "debug" })
	one := s.channel(t, "measured", "one", mux, selectorless)
	two := s.channel(t, "measured", "two", mux, port("tcp", 8001, "TCP"))
	s.awaitServed(t, two, "tcp:8001->8001")
	rival := s.channel(t, "measured", "rival", mux, port("tcp", 8001, "TCP"))
	s.awaitRefused(t, rival, "MuxPortConflict")
	s.backends(t, one, "one", "http:8080", "10.0.0.1", "10.0.0.2")
	s.awaitCarried(t, mux, "20000/TCP 8080: 10.0.0.1 10.0.0.2")
	run.awaitSeries(t, "measured",
		"svc_lb_mux_channels MuxPortConflict refused 1",
		"svc_lb_mux_channels Accepted accepted 2",
		"svc_lb_mux_freezes_total 0",
		"svc_lb_mux_frozen 0",
		"svc_lb_mux_port_range_free 9",
		"svc_lb_mux_port_range_size 10",
		"svc_lb_mux_ports_foreign 0",
		"svc_lb_mux_ports_held 2",
		"svc_lb_mux_ports_in_grace 0",
		"svc_lb_mux_ports_limit 4",
		"svc_lb_mux_backends_endpoints 2",
	)
	s.writeLedger(t, mux, map[string]string{"allocations.json": "{"})
	run.awaitSeries(t, "measured", "svc_lb_mux_frozen 1", "svc_lb_mux_freezes_total 1")

	s.delete(t, mux)
	for _, channel := range []types.NamespacedName{one, two, rival} {
		s.delete(t, channel)
	}
	cluster.Eventually(t, "the mux's series are gone", func(ctx context.Context) error {
		if series, err := run.series(ctx, "measured"); err != nil || len(series) > 0 {
			return fmt.Errorf("series %q, %w", series, err)
		}
		return nil
	})
	run.checkOwnSeries(t)
	run.stop()
	for line := range strings.Lines(run.log.String()) {
		var entry struct{ Level, Msg, Time string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level == "" || entry.Msg == "" ||
			entry.Time == "" {
			t.Errorf("not a line of a JSON log: %s", line)
		}
	}
}

// families returns the metric families of /metrics.
func (r *running) families(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	answer, err := r.ask(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	text, found := strings.CutPrefix(answer, "200 ")
	if !found {
		return nil, errors.New(answer)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewBufferString(text))
}

// series returns the series of a mux as "name label-values value", without the mux's own labels.
func (r *running) series(ctx context.Context, mux string) ([]string, error) {
	families, err := r.families(ctx)
	var series []string
	for name, family := range families {
		for _, metric := range family.Metric {
			words, of := []string{name}, ""
			for _, label := range metric.Label {
				switch label.GetName() {
				case "mux":
					of = label.GetValue()
				case "mux_namespace":
				default:
					words = append(words, label.GetValue())
				}
			}
			slices.Sort(words[1:])
			if of == mux {
				series = append(series,
					strings.Join(append(words, fmt.Sprint(metric.GetGauge().GetValue()+metric.GetCounter().GetValue())), " "))
			}
		}
	}
	slices.Sort(series)
	return series, err
}

func (r *running) awaitSeries(t *testing.T, mux string, want ...string) {
	t.Helper()
	cluster.Eventually(t, "the series of "+mux, func(ctx context.Context) error {
		got, err := r.series(ctx, mux)
		for _, line := range want {
			if !slices.Contains(got, line) {
				err = errors.Join(err, fmt.Errorf("%q is missing", line))
			}
		}
		if err != nil {
			return fmt.Errorf("%w among %q", err, got)
		}
		return nil
	})
}

// checkOwnSeries checks the series that aren't a mux's. None may have a label with thousands of values.
func (r *running) checkOwnSeries(t *testing.T) {
	t.Helper()
	families, err := r.families(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"svc_lb_mux_plan_duration_seconds", "svc_lb_mux_apply_duration_seconds", "svc_lb_mux_channel_programmed_seconds",
	} {
		if family := families[name]; family == nil || family.Metric[0].GetHistogram().GetSampleCount() == 0 {
			t.Errorf("%s is zero", name)
		}
	}
	kinds := map[string]bool{}
	for name, family := range families {
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				if l := label.GetName(); strings.HasPrefix(name, "svc_lb_mux_") &&
					(l == "channel" || l == "port" || l == "service") {
					t.Errorf("%s has a label %s", name, l)
				}
				if name == "svc_lb_mux_writes_total" {
					kinds[label.GetValue()] = metric.GetCounter().GetValue() > 0
				}
			}
		}
	}
	for _, kind := range []string{"ledger", "mux", "channel"} {
		if !kinds[kind] {
			t.Errorf("writes of a %s aren't counted: %v", kind, kinds)
		}
	}
	if families["svc_lb_mux_build_info"] == nil || families["workqueue_depth"] == nil || families["go_goroutines"] == nil {
		t.Error("metrics of the process itself are missing")
	}
}

func (s *scene) startsEarly(t *testing.T) {
	proxy := s.through(t)
	away := proxy.Add(faults.Rule{Do: faults.Drop()})
	run := s.reconcile(t, func(p *reconciler.Process) { p.Config = proxy.Config() })
	run.awaitAnswer(t, "/healthz", "200 ok\n")
	run.awaitAnswer(t, "/readyz", "503 the cache isn't filled yet: is the API server there, and may we list Services, "+
		"EndpointSlices and ConfigMaps?\n")
	ends := s.reconcile(t, func(p *reconciler.Process) { p.Config = proxy.Config() })
	ends.awaitAnswer(t, "/healthz", "200 ok\n")
	ends.stop() // although its cache can't sync
	away.Remove()
	run.awaitAnswer(t, "/readyz", "200 ok\n")
	run.awaitAnswer(t, "/leaderz", "200 leads\n")
}

func (s *scene) environment(t *testing.T) {
	s.namespace(t, "muxes")
	s.namespace(t, "own")
	environment := map[string]string{
		"API_PREFIX": "mux.example.com", "NAMESPACE": "own", "DEFAULT_MUX_NAMESPACE": "muxes", "SVC_LB_MUX_DEBUG": "true",
	}
	s.reconcile(t, func(p *reconciler.Process) {
		p.Options = reconciler.DefaultOptions(func(name string) string { return environment[name] })
		p.Options.ProbeAddress = "127.0.0.1:0"
	})
	ours := func(svc *corev1.Service) {
		for key, value := range svc.Annotations {
			delete(svc.Annotations, key)
			svc.Annotations[strings.Replace(key, prefix, "mux.example.com", 1)] = value
		}
		class := "mux.example.com/mux" // in the default namespace
		if svc.Spec.LoadBalancerClass != nil {
			svc.Spec.LoadBalancerClass = &class
		}
	}
	mux := s.mux(t, "mux", ours, func(svc *corev1.Service) { svc.Namespace = "muxes" })
	channel := s.channel(t, "app", "web", mux, port("http", 80, "TCP"), annotated("external-ports", "http:auto"), ours)
	s.awaitPublic(t, mux, "20000/TCP")
	cluster.Eventually(t, "the channel is told under the other prefix", func(context.Context) error {
		svc := s.get(t, channel)
		if got := svc.Annotations["mux.example.com/ports"]; got != "http:80->20000" || len(svc.Status.Conditions) != 3 {
			return fmt.Errorf("the channel has %q, %v", got, svc.Status.Conditions)
		}
		for _, c := range svc.Status.Conditions {
			if !strings.HasPrefix(c.Type, "mux.example.com/") {
				return fmt.Errorf("conditions: %v", c)
			}
		}
		return nil
	})
	if _, err := s.user.CoordinationV1().Leases("own").Get(t.Context(), leaseName, metav1.GetOptions{}); err != nil {
		t.Errorf("the lease isn't in the process's own namespace: %v", err)
	}
}
