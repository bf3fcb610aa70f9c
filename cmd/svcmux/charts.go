package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// charts knows the templates of Helm charts: they become YAML only when Helm renders them.
type charts struct {
	known   map[string]string // directory -> chart that it holds templates of, or ""
	skipped map[string]int    // chart -> how many of its templates
}

func newCharts() *charts {
	return &charts{known: map[string]string{}, skipped: map[string]int{}}
}

// isTemplate is true for a file below a chart's templates/ that Helm has work to do in.
func (c *charts) isTemplate(file source, data []byte) bool {
	if file.path == "" || !hasTemplate(data) {
		return false
	}
	chart := c.of(filepath.Dir(file.path))
	if chart == "" {
		return false
	}
	c.skipped[chart]++
	return true
}

// of looks upwards for a templates/ beside a Chart.yaml. It goes by absolute paths: -f . may be inside of one.
func (c *charts) of(dir string) string {
	if chart, known := c.known[dir]; known {
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
	c.known[dir] = chart
	return chart
}

func (c *charts) tell(rep *report) {
	for _, chart := range slices.Sorted(maps.Keys(c.skipped)) {
		rep.skip(filepath.Join(chart, "templates"), fmt.Sprintf("%s skipped, Helm has to render it first: "+
			"helm template %s | svcmux validate -f -", count(c.skipped[chart], "template"), printable(chart)))
	}
}

func hasTemplate(data []byte) bool { return bytes.Contains(data, []byte("{{")) }
