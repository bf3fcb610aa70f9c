package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// scrape is the interval between the values of a series, and between evaluations of alerts.
const scrape = time.Minute

// sample is a value of a series.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// store holds the series of a story.
type store []storage.Series

// newStore parses series in the notation of Prometheus' own tests, one per line.
func newStore(t *testing.T, lines []string) store {
	t.Helper()
	var all store
	for _, line := range lines {
		name, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var samples []chunks.Sample
		for i, value := range values {
			if !value.Omitted {
				samples = append(samples, sample{(time.Duration(i) * scrape).Milliseconds(), value.Value})
			}
		}
		all = append(all, storage.NewListSeries(name, samples))
	}
	return all
}

// Querier implements storage.Queryable.
func (s store) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &found{all: s.matching(matchers)}
		},
	}, nil
}

func (s store) matching(matchers []*labels.Matcher) store {
	var matching store
series:
	for _, series := range s {
		for _, matcher := range matchers {
			if !matcher.Matches(series.Labels().Get(matcher.Name)) {
				continue series
			}
		}
		matching = append(matching, series)
	}
	return matching
}

// found implements storage.SeriesSet.
type found struct {
	all  store
	next int
}

func (f *found) Next() bool                        { f.next++; return f.next <= len(f.all) }
func (f *found) At() storage.Series                { return f.all[f.next-1] }
func (f *found) Err() error                        { return nil }
func (f *found) Warnings() annotations.Annotations { return nil }

// over evaluates an expression at each scrape of a time. The result's keys are times.
func (s store) over(t *testing.T, expression string, start, end time.Time) map[time.Time]promql.Vector {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e7, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		Parser: parser.NewParser(parser.Options{}),
	})
	asked, err := engine.NewRangeQuery(t.Context(), s, nil, expression, start, end, scrape)
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	result := asked.Exec(t.Context())
	matrix, err := result.Matrix()
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(strings.Fields(expression), " "), err)
	}
	found := map[time.Time]promql.Vector{}
	for _, series := range matrix {
		for _, point := range series.Floats {
			at := time.UnixMilli(point.T)
			found[at] = append(found[at], promql.Sample{T: point.T, F: point.F, Metric: series.Metric})
		}
	}
	return found
}
