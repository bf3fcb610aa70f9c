package rules

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// vocabulary maps every metric of our processes to its labels. Tests of the processes keep the lists up to date.
type vocabulary map[string][]string

func newVocabulary(t *testing.T) vocabulary {
	t.Helper()
	v := vocabulary{}
	for _, process := range []string{"reconciler/run", "webhook"} {
		for line := range strings.Lines(read(t, "../../"+process+"/testdata/metrics.txt")) {
			name, rest, found := strings.Cut(strings.TrimSpace(line), " {")
			if !found {
				t.Fatalf("%s/testdata/metrics.txt: %q: want a name and its labels", process, line)
			}
			for label := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
				v[name] = append(v[name], label)
			}
		}
	}
	return v
}

// ofTarget are the labels that a scrape adds to each series.
var ofTarget = []string{"namespace", "job", "pod", "service", "instance", "container"}

// unknown returns the metrics and labels of an expression that no process exports.
func (v vocabulary) unknown(t *testing.T, expression string) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	known := slices.Clone(ofTarget)
	var grouped []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			known = append(known, v.labels(node.Name)...)
			wrong = append(wrong, v.unknownOf(node)...)
		case *parser.AggregateExpr:
			grouped = append(grouped, node.Grouping...)
		}
		return nil
	})
	for _, label := range grouped {
		if !slices.Contains(known, label) {
			wrong = append(wrong, "nothing in it has the label "+label)
		}
	}
	return wrong
}

func (v vocabulary) unknownOf(node *parser.VectorSelector) []string {
	if v.labels(node.Name) == nil {
		return []string{"no process has the metric " + node.Name}
	}
	var wrong []string
	for _, matcher := range node.LabelMatchers {
		known := append(v.labels(node.Name), ofTarget...)
		if matcher.Name != model.MetricNameLabel && !slices.Contains(known, matcher.Name) {
			wrong = append(wrong, node.Name+" has no label "+matcher.Name)
		}
	}
	return wrong
}

// labels returns the labels of a metric, or nil if no process exports it.
func (v vocabulary) labels(name string) []string {
	if found, known := v[name]; known {
		return found
	}
	if histogram, isBucket := strings.CutSuffix(name, "_bucket"); isBucket && strings.HasSuffix(histogram, "_seconds") {
		if found, known := v[histogram]; known {
			return append(slices.Clone(found), "le")
		}
	}
	return nil
}

// TestAlertsQueryExistingMetrics checks for renamed metrics and labels: an alert on them would never fire.
func TestAlertsQueryExistingMetrics(t *testing.T) {
	known := newVocabulary(t)
	for _, rule := range load(t, file) {
		for _, wrong := range known.unknown(t, rule.Expr) {
			t.Errorf("%s: %s", rule.Alert, wrong)
		}
	}
}

// TestVocabularyFindsUnknownMetricsAndLabels tests the checker that the other tests rely on.
func TestVocabularyFindsUnknownMetricsAndLabels(t *testing.T) {
	known := newVocabulary(t)
	for expression, want := range map[string]string{
		`svc_lb_mux_frozen{mux="a"}`:                              "",
		`sum by (le) (svc_lb_mux_plan_duration_seconds_bucket)`:   "",
		`svc_lb_mux_frozn`:                                        "no process has the metric svc_lb_mux_frozn",
		`svc_lb_mux_frozen{reason="a"}`:                           "svc_lb_mux_frozen has no label reason",
		`sum by (le) (svc_lb_mux_frozen)`:                         "nothing in it has the label le",
		`svc_lb_mux_certificate_expiry_timestamp_seconds_bucket{`: "unexpected",
	} {
		if got := strings.Join(known.unknown(t, expression), "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// TestOperationsPageListsAllMetrics checks that docs/operations.md names each of our metrics, and no others.
func TestOperationsPageListsAllMetrics(t *testing.T) {
	known, page := newVocabulary(t), read(t, "../../docs/operations.md")
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bsvc_lb_mux_[a-z_]+[a-z]`).FindAllString(page, -1) {
		named[name] = true
		if known.labels(name) == nil {
			t.Errorf("docs/operations.md names %s, which no process has", name)
		}
	}
	for name, has := range known {
		if strings.HasPrefix(name, "svc_lb_mux_") && !named[name] {
			t.Errorf("docs/operations.md doesn't name %s", name)
		}
		for _, label := range has {
			if strings.HasPrefix(name, "svc_lb_mux_") && label != "" && !strings.Contains(page, "`"+label+"`") {
				t.Errorf("docs/operations.md doesn't explain the label %s of %s", label, name)
			}
		}
	}
}
