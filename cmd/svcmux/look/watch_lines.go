package look

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
)

// watched has the rows and column widths that a watch has printed.
type watched struct {
	env    cli.Env
	format string
	last   map[string]string
	widths []int
}

// print prints the whole list the first time, and then the rows that changed.
func (w *watched) print(list *List) error {
	first, gone := w.last == nil, w.last
	rows, now, err := list.changed(w.last, w.format)
	if err != nil {
		return err
	}
	w.last = now
	var b bytes.Buffer
	if w.format == "json" || w.format == "yaml" || w.format == "name" {
		for _, row := range rows {
			part := List{Schema: list.Schema, Rows: []Row{row}}
			if err := part.Print(cli.Env{Out: &b, Getenv: w.env.Getenv}, w.format); err != nil {
				return err
			}
		}
		return Write(w.env.Out, b.Bytes())
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if _, stays := now[name]; !stays {
			rows = append(rows, Row{Cells: append([]string{name, "gone"}, make([]string, max(0, len(list.Header)-2))...)})
		}
	}
	if first {
		rows = slices.Insert(rows, 0, Row{Cells: list.Header})
	}
	w.widen(rows)
	for _, row := range rows {
		b.WriteString(w.line(row.Cells))
	}
	return Write(w.env.Out, b.Bytes())
}

// widen makes columns as wide as the widest cell so far, so that later lines stand below the first ones.
func (w *watched) widen(rows []Row) {
	for _, row := range rows {
		for i, cell := range row.Cells {
			if i == len(w.widths) {
				w.widths = append(w.widths, 0)
			}
			w.widths[i] = max(w.widths[i], utf8.RuneCountInString(cell))
		}
	}
}

func (w *watched) line(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&b, "%-*s   ", w.widths[i], cell)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}
