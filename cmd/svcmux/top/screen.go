package top

import (
	"fmt"
	"strings"
	"time"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

const frame = 3 // lines that aren't for rows: titles, header, and footer

// room is how many rows the screen has.
func (m *model) room() int { return max(1, m.height-frame) }

// screen returns all lines. The terminal never wraps a line: each is cut to the width.
func (m *model) screen() string {
	if m.width == 0 || m.height == 0 {
		return ""
	}
	var lines []string
	switch {
	case m.help:
		lines = append([]string{m.titles(), ""}, help()...)
	case m.at.IsZero():
		lines = []string{m.titles(), "", "Reading from " + m.server + " ..."}
	default:
		lines = append([]string{m.titles()}, m.table()...)
	}
	lines = lines[:min(len(lines), max(1, m.height-1))]
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	for i, line := range lines {
		lines[i] = cut(line, m.width)
	}
	lines[0] = m.paint.Bold(lines[0])
	if m.height > 1 {
		lines = append(lines, m.paint.Yellow(cut(m.footer(), m.width)))
	}
	return strings.Join(lines, "\n")
}

// titles marks the current page with brackets, so that it is seen without colours.
func (m *model) titles() string {
	text := "svcmux top "
	for i, title := range titles() {
		if i == m.current {
			text += fmt.Sprintf(" [%d %s]", i+1, title)
			continue
		}
		text += fmt.Sprintf("  %d %s ", i+1, title)
	}
	return strings.TrimRight(text, " ")
}

func (m *model) footer() string {
	p, v := &m.pages[m.current], &m.views[m.current]
	if m.help || len(p.rows) == 0 {
		return "? help  q quit"
	}
	order := "ascending"
	if v.descending {
		order = "descending"
	}
	last := min(v.first+m.room(), len(p.rows))
	return fmt.Sprintf("? help  q quit  rows %d-%d of %d by %s, %s  %s", v.first+1, last, len(p.rows),
		p.header[min(v.column, len(p.header)-1)], order, m.at.Format(time.TimeOnly))
}

// table returns the header and rows of the current page, and then its sentences.
func (m *model) table() []string {
	p, v := &m.pages[m.current], &m.views[m.current]
	if len(p.rows) == 0 {
		return append([]string{""}, strings.Split(cli.Wrap(p.message, m.width, ""), "\n")...)
	}
	rows := p.sorted(v.column, v.descending)
	shown := columnsOf(p.header, rows, m.width, v.column)
	lines := []string{shown.line(p.header)}
	for _, r := range rows[v.first:min(v.first+m.room(), len(rows))] {
		lines = append(lines, shown.line(r.cells))
	}
	for _, note := range p.notes {
		lines = append(append(lines, ""), strings.Split(cli.Wrap(note, m.width, ""), "\n")...)
	}
	return lines
}

const ellipsis = "…"

// cut shortens a text to a width.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(0, width-1)]) + ellipsis
}

func help() []string {
	return []string{
		"1 2 3 4 5, tab   choose the page: muxes, ports, backends, traffic, changes",
		"left, right      sort by another column",
		"r                reverse the order",
		"up, down         scroll; also j and k",
		"pgup, pgdown     scroll by a screen; also space",
		"home, end        go to the first or the last row",
		"?                this help",
		"q                quit",
	}
}
