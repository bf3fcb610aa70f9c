package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
)

// point is the count of channels in each state, at a number of milliseconds after the first request.
type point struct {
	ms                            float64
	created, programmed, answered float64
}

// readPoints parses the lines of package test/bench/dataplane. It ignores other lines, which are for people.
func readPoints(text []byte) ([]point, error) {
	var points []point
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		rest, is := strings.CutPrefix(lines.Text(), "point dataplane/thousand ")
		if !is {
			continue
		}
		var p point
		if _, err := fmt.Sscanf(rest, "%f created=%f programmed=%f answered=%f", &p.ms, &p.created, &p.programmed,
			&p.answered); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		points = append(points, p)
	}
	if len(points) < 2 {
		return nil, errors.New("fewer than two points: run `make bench BENCH=ThousandChannels` and record it")
	}
	return points, nil
}

const (
	chartLeft, chartTop     = 70, 50
	chartWidth, chartHeight = 780, 300
)

const chartStyle = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 15px }
.axis { stroke: #d0d7de } .tick { fill: #656d76; font-size: 11px } path { fill: none; stroke-width: 2.5 }
.created { stroke: #8c959f } .programmed { stroke: #0969da } .answered { stroke: #1a7f37; stroke-dasharray: 6 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .axis { stroke: #30363d } .tick { fill: #8d96a0 }
  .created { stroke: #8d96a0 } .programmed { stroke: #58a6ff } .answered { stroke: #3fb950 }
}
</style>
`

func drawPoints(points []point) ([]byte, error) {
	last := points[len(points)-1]
	c := chart{step: stepOf(last.ms), top: max(last.created, last.programmed, last.answered)}
	if c.top == 0 {
		return nil, errors.New("no channel was created in these points")
	}
	c.end = c.step * math.Ceil(last.ms/c.step)

	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 %d" role="img" aria-labelledby="t">`+"\n",
		chartTop+chartHeight+80)
	fmt.Fprintf(&out, `<title id="t">How %s channels come up</title>`+"\n%s", count(last.created), chartStyle)
	fmt.Fprintf(&out, `<text class="title" x="10" y="24">Channels, over the seconds since the first was asked for</text>`+
		"\n")
	c.axes(&out)
	for i, line := range []curve{
		{"created", "made by their owners", func(p point) float64 { return p.created }},
		{"programmed", "with port and address", func(p point) float64 { return p.programmed }},
		{"answered", "answered by their own pod", func(p point) float64 { return p.answered }},
	} {
		c.draw(&out, line, points)
		at := chartLeft + i*230
		fmt.Fprintf(&out, `<path class="%s" d="M%d %d h36"/><text x="%d" y="%d">%s</text>`+"\n",
			line.class, at, chartTop+chartHeight+52, at+44, chartTop+chartHeight+56, line.words)
	}
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// chart has an axis of milliseconds from 0 to end, with a tick per step, and an axis of channels from 0 to top.
type chart struct{ step, end, top float64 }

func (c chart) x(ms float64) float64 { return chartLeft + ms/c.end*chartWidth }
func (c chart) y(n float64) float64  { return chartTop + (1-n/c.top)*chartHeight }

func (c chart) axes(out *bytes.Buffer) {
	for i := range 5 {
		n := c.top * float64(i) / 4
		fmt.Fprintf(out, `<line class="axis" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, chartLeft, c.y(n), chartLeft+chartWidth,
			c.y(n))
		fmt.Fprintf(out, `<text class="tick" text-anchor="end" x="%d" y="%.1f">%s</text>`+"\n", chartLeft-8, c.y(n)+4,
			count(n))
	}
	for ms := 0.0; ms <= c.end; ms += c.step {
		fmt.Fprintf(out, `<text class="tick" text-anchor="middle" x="%.1f" y="%d">%g s</text>`+"\n", c.x(ms),
			chartTop+chartHeight+18, ms/1000)
	}
}

// curve is the course of a count over time.
type curve struct {
	class, words string
	of           func(point) float64
}

func (c chart) draw(out *bytes.Buffer, line curve, points []point) {
	fmt.Fprintf(out, `<path class="%s" d="`, line.class)
	for i, p := range points {
		fmt.Fprintf(out, "%c%.1f %.1f", "ML"[min(i, 1)], c.x(p.ms), c.y(line.of(p)))
	}
	out.WriteString(`"/>` + "\n")
}

// stepOf returns a round distance between ticks, in milliseconds, for at most ten ticks.
func stepOf(ms float64) float64 {
	for step := 100.0; ; step *= 10 {
		for _, by := range []float64{1, 2, 5} {
			if ms <= 10*by*step {
				return by * step
			}
		}
	}
}
