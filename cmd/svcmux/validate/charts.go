package validate

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// charts finds the templates of Helm charts. Only Helm can render them to YAML, so they are skipped.
type charts struct {
	byDirectory map[string]string // directory -> the chart whose templates it holds, or ""
	skipped     map[string]int    // chart -> number of skipped templates
}

func newCharts() *charts {
	return &charts{byDirectory: map[string]string{}, skipped: map[string]int{}}
}

// isTemplate says that the file is below a chart's templates/ and has template actions.
func (c *charts) isTemplate(file source, data []byte) bool {
	if file.path == "" || !hasTemplate(data) {
		return false
	}
	chart := c.chartOf(filepath.Dir(file.path))
	if chart == "" {
		return false
	}
	c.skipped[chart]++
	return true
}

// chartOf looks for a parent directory named templates beside a Chart.yaml. It compares absolute paths, since -f . may
// name a directory inside a chart.
func (c *charts) chartOf(dir string) string {
	if chart, known := c.byDirectory[dir]; known {
		return chart
	}
	chart := ""
	if at, err := filepath.Abs(dir); err == nil {
		for up := dir; filepath.Dir(at) != at; at, up = filepath.Dir(at), filepath.Join(up, "..") {
			parent := filepath.Dir(at)
			if _, err := os.Stat(filepath.Join(parent, "Chart.yaml")); err == nil && filepath.Base(at) == "templates" {
				chart = filepath.Join(up, "..")
				break
			}
		}
	}
	c.byDirectory[dir] = chart
	return chart
}

func (c *charts) reportSkipped(rep *report) {
	for _, chart := range slices.Sorted(maps.Keys(c.skipped)) {
		rep.skip(filepath.Join(chart, "templates"), fmt.Sprintf("%s skipped, Helm has to render it first: "+
			"helm template %s | %s validate -f -", cli.Count(c.skipped[chart], "template"), printable(chart), rep.program))
	}
}

func hasTemplate(data []byte) bool { return bytes.Contains(data, []byte("{{")) }
