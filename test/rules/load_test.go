package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const chart = "../../charts/svc-lb-mux"

// file is the matcher of a release in the rules' file.
const file = `job="svc-lb-mux"`

// load parses the alerts as Prometheus does, and fails on each of its objections. It replaces the release's matcher, as
// the chart does.
func load(t *testing.T, about string) []rulefmt.Rule {
	t.Helper()
	text := strings.ReplaceAll(read(t, filepath.Join(chart, "rules", "svc-lb-mux.yaml")), file, about)
	groups, problems := rulefmt.Parse([]byte(text), false, model.UTF8Validation, parser.NewParser(parser.Options{}),
		promslog.NewNopLogger())
	for _, problem := range problems {
		t.Error(problem)
	}
	if len(problems) > 0 {
		t.FailNow()
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEachAlertSaysWhatToDo checks that each alert has a severity, whole sentences about the problem and the remedy,
// and a paragraph on the page. The chart can link to that paragraph.
func TestEachAlertSaysWhatToDo(t *testing.T) {
	page := read(t, "../../docs/operations.md")
	for _, rule := range load(t, file) {
		t.Run(rule.Alert, func(t *testing.T) {
			if severity := rule.Labels["severity"]; severity != "warning" && severity != "critical" {
				t.Errorf("severity %q: want warning (can wait for the morning) or critical (can't)", severity)
			}
			for _, annotation := range []string{"summary", "description"} {
				if text := rule.Annotations[annotation]; !strings.HasSuffix(text, ".") {
					t.Errorf("%s %q: want a whole sentence", annotation, text)
				}
			}
			if !strings.Contains(rule.Expr, file) {
				t.Errorf("the chart can't restrict the alert to one release: %s isn't in %s", file, rule.Expr)
			}
			if !strings.Contains(page, "\n### "+rule.Alert+"\n") {
				t.Errorf("docs/operations.md has no heading %q", rule.Alert)
			}
		})
	}
}
