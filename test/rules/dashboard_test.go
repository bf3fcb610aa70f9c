package rules

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dashboard is what of Grafana's model has to do with Prometheus, or with reading.
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

// stands are what Grafana puts into an expression.
var stands = strings.NewReplacer(`=~"$namespace"`, `=~".*"`, `=~"$job"`, `=~".*"`, `=~"$mux_namespace"`, `=~".*"`,
	`=~"$mux"`, `=~".*"`, "$__rate_interval", "5m")

// TestTheDashboardAsksForWhatThereIs: each expression is PromQL, and asks for metrics and labels that there are.
func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
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
		t.Errorf("panel %q: a title, a sentence about it and a question, please", p.Title)
	}
	for _, target := range p.Targets {
		expression := stands.Replace(target.Expr)
		if strings.Contains(expression, "$") {
			t.Errorf("panel %q: nobody says what the variable is in %s", p.Title, expression)
		}
		for _, wrong := range known.unknown(t, expression) {
			t.Errorf("panel %q: %s in %s", p.Title, wrong, expression)
		}
		if !strings.Contains(target.Expr, `namespace=~"$namespace",job=~"$job"`) {
			t.Errorf("panel %q doesn't ask which release in %s", p.Title, target.Expr)
		}
	}
}

// check looks at what a variable may be chosen from.
func (v variable) check(t *testing.T, known vocabulary) {
	t.Helper()
	if v.Type != "query" {
		return
	}
	asked, _ := v.Query.(map[string]any)
	text, _ := asked["query"].(string)
	parts := regexp.MustCompile(`^label_values\((.*), ([a-z_]+)\)$`).FindStringSubmatch(text)
	if parts == nil {
		t.Fatalf("variable %q asks for %q", v.Name, text)
	}
	for _, wrong := range known.unknown(t, "sum by ("+parts[2]+") ("+stands.Replace(parts[1])+")") {
		t.Errorf("variable %q: %s", v.Name, wrong)
	}
}
