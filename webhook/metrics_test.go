package webhook

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"nowake.ai/svc-lb-mux/certs"
	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

// TestMetricNamesAndLabels lists all metrics with their labels. Names and labels are part of the API. Tests compare
// alerts, dashboard and docs with this list.
func TestMetricNamesAndLabels(t *testing.T) {
	registry := newRegistry("v0-test")
	newMetrics(registry)
	newPredictionMetrics(registry)
	certs.NewFiles(certs.FilesOptions{}, zap.NewNop(), registry)
	golden.File(t, "testdata/metrics.txt", strings.Join(described(registry), ""))
}

// described returns the metrics of a collector, one per line: the name, and the labels in their order. Of Go's and the
// process's metrics, it returns only those that the dashboard uses.
func described(from prometheus.Collector) []string {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		from.Describe(descs)
	}()
	var lines []string
	for desc := range descs {
		name := between(desc.String(), `fqName: "`, `"`)
		if !strings.HasPrefix(name, "svc_lb_mux_") && name != "process_cpu_seconds_total" &&
			name != "process_resident_memory_bytes" {
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
