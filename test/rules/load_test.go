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

// file is the job that the rules are about as they stand.
const file = `job="svc-lb-mux"`

// load reads the alerts as Prometheus does, with all that it objects to. Like the chart, it has them be about one release
// instead.
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

// TestEachAlertSaysWhatToDo: how bad it is, what is the matter, and the way out; and the page has a paragraph of it, which
// the link that the chart can give leads to.
func TestEachAlertSaysWhatToDo(t *testing.T) {
	page := read(t, "../../docs/operations.md")
	for _, rule := range load(t, file) {
		t.Run(rule.Alert, func(t *testing.T) {
			if severity := rule.Labels["severity"]; severity != "warning" && severity != "critical" {
				t.Errorf("severity %q: warning can wait for the morning, critical can't", severity)
			}
			for _, annotation := range []string{"summary", "description"} {
				if text := rule.Annotations[annotation]; !strings.HasSuffix(text, ".") {
					t.Errorf("%s %q: a whole sentence, please", annotation, text)
				}
			}
			if !strings.Contains(rule.Expr, file) {
				t.Errorf("the chart can't have it be about one release, as %s isn't in %s", file, rule.Expr)
			}
			if !strings.Contains(page, "\n### "+rule.Alert+"\n") {
				t.Errorf("docs/operations.md has no heading %q", rule.Alert)
			}
		})
	}
}
