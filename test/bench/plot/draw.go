package main

import (
	"bytes"
	"fmt"
	"math"
)

// row is a line of a panel: our figure beside the original's time, or beside the figure that other names.
type row struct {
	label    string
	name     string
	original float64
	other    string
}

// panel is a group of rows on one logarithmic axis.
type panel struct {
	title       string
	first, last float64 // ends of the axis
	rows        []row
	say         func(float64) string
}

// drawing is a picture.
type drawing struct {
	title  string
	others string // the name of those with whom we compare
	panels []panel
}

// theOriginal holds the original's figures, measured on a machine with two cores (see docs/performance.md).
func theOriginal() drawing {
	return drawing{"What a change takes, here and in the Python original", "the Python original", []panel{
		{"Time, in milliseconds", 1, 100_000, []row{
			{"10 channels created: all have ports and address", "reconciler/convergence-of-10", 430, ""},
			{"100 channels", "reconciler/convergence-of-100", 3_500, ""},
			{"1,000 channels", "reconciler/convergence-of-1000", 38_000, ""},
			{"an endpoint changes, 100 channels: on the mux", "reconciler/endpoint-change-at-100", 4_000, ""},
			{"an endpoint changes, 1,000 channels", "reconciler/endpoint-change-at-1000", 10_200, ""},
			{"a channel is deleted: its port is gone", "reconciler/deleted-port-gone", 10_300, ""},
			{"somebody changes a port: it is put right", "reconciler/drift-put-right", 7_000, ""},
			{"the mux gets another address: all 100 channels show it", "reconciler/new-address-everywhere", 7_000, ""},
		}, milliseconds},
		{"Requests to the API server, for one changed endpoint", 1, 100_000, []row{
			{"100 channels", "reconciler/endpoint-change-at-100-requests", 111, ""},
			{"1,000 channels", "reconciler/endpoint-change-at-1000-requests", 4_029, ""},
		}, count},
	}}
}

// gateways has our figures beside those of other ways, from the same run (see docs/gateways.md).
func gateways() drawing {
	return drawing{"What gateways take, and what others take", "the other way", []panel{
		{"A new TCP connection through a machine with 10,000 ports, in microseconds", 10, 1_000, []row{
			{"other way: one DNAT rule for all ports", "gateways/new-connection", 0, "gateways/new-connection-by-one-rule"},
			{"other way: kube-proxy in nftables mode", "gateways/new-connection", 0, "gateways/new-connection-by-kube-proxy"},
		}, microseconds},
		{"Backends change; other way: a file with a rule for each of 10,000 ports", 0.1, 100_000, []row{
			{"of one port", "gateways/one-port-changes", 0, "gateways/a-rule-for-each-port"},
			{"of all 10,000 ports", "gateways/all-ports-change", 0, "gateways/a-rule-for-each-port"},
		}, milliseconds},
	}}
}

const (
	width     = 900
	left      = 430 // x position of the axes' start
	right     = 60
	rowHeight = 26
	headRoom  = 62
)

const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 15px }
.axis { stroke: #d0d7de } .tick { fill: #656d76; font-size: 11px } .gap { stroke: #afb8c1; stroke-width: 2 }
.old { fill: #bc4c00 } .new { fill: #0969da } .value { font-size: 12px }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .axis { stroke: #30363d } .tick { fill: #8d96a0 } .gap { stroke: #484f58 }
  .old { fill: #f0883e } .new { fill: #58a6ff }
}
</style>
`

func (d *drawing) draw(figures map[string]float64) ([]byte, error) {
	var body bytes.Buffer
	y := 0
	for _, p := range d.panels {
		if err := p.draw(&body, y, figures); err != nil {
			return nil, err
		}
		y += headRoom + len(p.rows)*rowHeight + 24
	}
	fmt.Fprintf(&body, `<circle class="new" cx="16" cy="%d" r="6"/><text x="28" y="%d">svc-lb-mux</text>`+"\n", y+8, y+12)
	fmt.Fprintf(&body, `<circle class="old" cx="136" cy="%d" r="6"/><text x="148" y="%d">%s</text>`+"\n", y+8, y+12,
		d.others)

	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t">`+"\n",
		width, y+28)
	fmt.Fprintf(&out, `<title id="t">%s</title>`+"\n%s", d.title, style)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

func (p *panel) draw(out *bytes.Buffer, top int, figures map[string]float64) error {
	fmt.Fprintf(out, `<text class="title" x="10" y="%d">%s</text>`+"\n", top+24, p.title)
	bottom := top + headRoom + len(p.rows)*rowHeight
	for tick := p.first; tick <= p.last; tick *= 10 {
		fmt.Fprintf(out, `<line class="axis" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, p.x(tick), top+headRoom-14, p.x(tick),
			bottom-4)
		fmt.Fprintf(out, `<text class="tick" text-anchor="middle" x="%.1f" y="%d">%s</text>`+"\n", p.x(tick), top+headRoom-20,
			tickText(tick))
	}
	for i, r := range p.rows {
		ours, there := figures[r.name]
		if !there {
			return fmt.Errorf("%s is missing: run `make bench` and record it", r.name)
		}
		theirs := r.original
		if r.other != "" {
			if theirs, there = figures[r.other]; !there {
				return fmt.Errorf("%s is missing: run `make bench` and record it", r.other)
			}
		}
		p.pair(out, top+headRoom+i*rowHeight, r.label, ours, theirs)
	}
	return nil
}

func (p *panel) pair(out *bytes.Buffer, y int, label string, ours, theirs float64) {
	from, to := p.x(ours), p.x(theirs)
	fmt.Fprintf(out, `<text x="10" y="%d">%s</text>`, y+5, label)
	fmt.Fprintf(out, `<line class="gap" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, from, y, to, y)
	fmt.Fprintf(out, `<circle class="new" cx="%.1f" cy="%d" r="6"/><circle class="old" cx="%.1f" cy="%d" r="6"/>`, from, y,
		to, y)
	fmt.Fprintf(out, `<text class="value" text-anchor="end" x="%.1f" y="%d">%s</text>`, min(from, to)-10, y+4,
		p.say(min(ours, theirs)))
	fmt.Fprintf(out, `<text class="value" text-anchor="start" x="%.1f" y="%d">%s</text>`+"\n", max(from, to)+10, y+4,
		p.say(max(ours, theirs)))
}

// x returns the position of a value on the axis.
func (p *panel) x(value float64) float64 {
	part := math.Log10(max(value, p.first)/p.first) / math.Log10(p.last/p.first)
	return left + part*(width-left-right)
}

func milliseconds(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%.3g s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

func tickText(tick float64) string {
	if tick < 1 {
		return fmt.Sprint(tick)
	}
	return count(tick)
}

func microseconds(us float64) string { return fmt.Sprintf("%.0f µs", us) }

func count(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	if len(text) > 3 {
		return text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}
