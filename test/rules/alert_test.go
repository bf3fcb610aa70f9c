package rules

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// alert is a rule and its findings so far, by their labels.
//
//	nothing ── found ──► pending ── found for as long as `for` ──► fires
//	   ▲                    │                                        │
//	   ├─── not found ──────┘                                        │
//	   └─── not found for as long as `keep_firing_for` ◄─────────────┘
type alert struct {
	rulefmt.Rule
	active map[string]*finding
}

type finding struct {
	since time.Time // start of the time in which each query found it
	gone  time.Time // start of the time in which no query found it; zero while found
	fires bool
	texts []string
}

// look takes the query's next result, and returns which findings begin to fire and which end.
func (a *alert) look(t *testing.T, result promql.Vector, now time.Time) (begins, ends []string) {
	t.Helper()
	found := map[string]bool{}
	for _, one := range result {
		name := a.name(one)
		if found[name] {
			t.Fatalf("%s: the query finds it twice at %s, which Prometheus refuses", name, since(now))
		}
		found[name] = true
		if a.active[name] == nil {
			a.active[name] = &finding{since: now}
		}
		f := a.active[name]
		f.gone = time.Time{}
		if !f.fires && now.Sub(f.since) >= time.Duration(a.For) {
			f.fires, f.texts = true, a.texts(t, one)
			begins = append(begins, name)
		}
	}
	for name, f := range a.active {
		if found[name] {
			continue
		}
		if f.gone.IsZero() {
			f.gone = now
		}
		if f.fires && now.Sub(f.gone) < time.Duration(a.KeepFiringFor) {
			continue
		}
		if f.fires {
			ends = append(ends, name)
		}
		delete(a.active, name)
	}
	slices.Sort(begins)
	slices.Sort(ends)
	return begins, ends
}

// name returns the severity, the alert and the labels that distinguish the finding.
func (a *alert) name(one promql.Sample) string {
	b := labels.NewBuilder(one.Metric)
	b.Del(model.MetricNameLabel)
	return a.Labels["severity"] + " " + a.Alert + b.Labels().String()
}

// texts returns the annotations with their templates expanded.
func (a *alert) texts(t *testing.T, one promql.Sample) []string {
	t.Helper()
	const before = "{{$labels := .Labels}}{{$value := .Value}}"
	var texts []string
	for _, which := range slices.Sorted(maps.Keys(a.Annotations)) {
		data := template.AlertTemplateData(one.Metric.Map(), nil, "", one)
		text, err := template.NewTemplateExpander(t.Context(), before+a.Annotations[which], a.Alert, data, model.Time(0),
			func(context.Context, string, time.Time) (promql.Vector, error) { return nil, nil }, &url.URL{}, nil).Expand()
		if err != nil {
			t.Errorf("%s of %s: %v", which, a.Alert, err)
		}
		texts = append(texts, which+": "+text)
	}
	return texts
}

// play runs rules over series, and returns the starts and ends of firing in order. It also returns the texts of the
// alerts that fired.
func play(t *testing.T, rules []rulefmt.Rule, series []string, length time.Duration) (told, texts []string) {
	t.Helper()
	stored := newStore(t, series)
	start := time.Unix(0, 0)
	end := start.Add(length)
	alerts := make([]*alert, len(rules))
	results := make([]map[time.Time]promql.Vector, len(rules))
	for i, rule := range rules {
		alerts[i] = &alert{rule, map[string]*finding{}}
		results[i] = stored.over(t, rule.Expr, start, end)
	}
	for now := start; !now.After(end); now = now.Add(scrape) {
		for i, a := range alerts {
			begins, ends := a.look(t, results[i][now], now)
			for _, name := range begins {
				told = append(told, since(now)+" "+name)
				texts = append(texts, name+"\n  "+strings.Join(a.active[name].texts, "\n  ")+"\n")
			}
			for _, name := range ends {
				told = append(told, since(now)+" no more "+name)
			}
		}
	}
	return told, texts
}

// since formats a time of a story, such as 1h05m.
func since(now time.Time) string {
	minutes := now.Unix() / 60
	if minutes < 60 {
		return fmt.Sprintf("%dm", minutes)
	}
	return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
}
