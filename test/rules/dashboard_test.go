package rules

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dashboard is the part of Grafana's model that a query or a reader sees.
type dashboard struct {
	UID, Title string
	Panels     []panel
	Templating struct{ List []variable }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct{ Expr, LegendFormat string }
}

type variable struct {
	Name, Type string
	Query      any
}

// stands replaces Grafana's variables in an expression.
var stands = strings.NewReplacer(`=~"$namespace"`, `=~".*"`, `=~"$job"`, `=~".*"`, `=~"$mux_namespace"`, `=~".*"`,
	`=~"$mux"`, `=~".*"`, "$__rate_interval", "5m")

// TestDashboardQueriesExistingMetrics checks that each expression is PromQL, and uses only existing metrics and labels.
func TestDashboardQueriesExistingMetrics(t *testing.T) {
	known := newVocabulary(t)
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, filepath.Join(chart, "dashboards", "svc-lb-mux.json"))), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || len(d.Panels) == 0 {
		t.Fatalf("no dashboard: %+v", d)
	}
	ids := map[int]string{}
	for _, p := range d.Panels {
		if before, twice := ids[p.ID]; twice {
			t.Errorf("panels %q and %q have one id", before, p.Title)
		}
		ids[p.ID] = p.Title
		p.check(t, known)
	}
	for _, v := range d.Templating.List {
		v.check(t, known)
	}
}

func (p panel) check(t *testing.T, known vocabulary) {
	t.Helper()
	if p.GridPos.X+p.GridPos.W > 24 {
		t.Errorf("panel %q is wider than the page", p.Title)
	}
	if p.Type == "row" {
		return
	}
	if p.Title == "" || !strings.HasSuffix(p.Description, ".") || len(p.Targets) == 0 {
		t.Errorf("panel %q: want a title, a description that ends with a full stop, and a query", p.Title)
	}
	for _, target := range p.Targets {
		expression := stands.Replace(target.Expr)
		if strings.Contains(expression, "$") {
			t.Errorf("panel %q: unknown variable in %s", p.Title, expression)
		}
		for _, wrong := range known.unknown(t, expression) {
			t.Errorf("panel %q: %s in %s", p.Title, wrong, expression)
		}
		if !strings.Contains(target.Expr, `namespace=~"$namespace",job=~"$job"`) {
			t.Errorf("panel %q: want the release's namespace and job in %s", p.Title, target.Expr)
		}
	}
}

// check checks the query for the values of a variable.
func (v variable) check(t *testing.T, known vocabulary) {
	t.Helper()
	if v.Type != "query" {
		return
	}
	asked, _ := v.Query.(map[string]any)
	text, _ := asked["query"].(string)
	parts := regexp.MustCompile(`^label_values\((.*), ([a-z_]+)\)$`).FindStringSubmatch(text)
	if parts == nil {
		t.Fatalf("variable %q has the query %q, want label_values", v.Name, text)
	}
	for _, wrong := range known.unknown(t, "sum by ("+parts[2]+") ("+stands.Replace(parts[1])+")") {
		t.Errorf("variable %q: %s", v.Name, wrong)
	}
}
