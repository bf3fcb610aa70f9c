package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

// The pages, in the order of the keys 1 to 5.
const (
	muxes = iota
	numbers
	backends
	traffic
	changes
	pageCount
)

func titles() [pageCount]string {
	return [pageCount]string{"muxes", "ports", "backends", "traffic", "changes"}
}

// page is a table, and sentences below it.
type page struct {
	header  []string
	rows    []row
	notes   []string
	message string // in place of rows
}

type row struct {
	name  string
	cells []string
}

// sorted returns the rows, sorted by a column. Equal rows keep their order.
func (p *page) sorted(column int, descending bool) []row {
	rows := slices.Clone(p.rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		if column < 0 || column >= len(a.cells) || column >= len(b.cells) {
			return 0
		}
		order := compareCells(a.cells[column], b.cells[column])
		if descending {
			return -order
		}
		return order
	})
	return rows
}

// compareCells compares the numbers with which cells begin, and else the texts.
func compareCells(a, b string) int {
	numberOf := func(text string) (int, bool) {
		end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(text)
		}
		n, err := strconv.Atoi(text[:end])
		return n, err == nil
	}
	first, isFirst := numberOf(a)
	second, isSecond := numberOf(b)
	if isFirst && isSecond && first != second {
		return cmp.Compare(first, second)
	}
	return cmp.Compare(a, b)
}

// changesOf returns the cells that differ between two tables, as kind, name and change.
func changesOf(kind string, before, after page) [][]string {
	var all [][]string
	old := map[string]row{}
	for _, r := range before.rows {
		old[r.name] = r
	}
	for _, r := range after.rows {
		was, known := old[r.name]
		delete(old, r.name)
		if !known {
			all = append(all, []string{kind, r.name, "new"})
			continue
		}
		for i, cell := range r.cells {
			if column := after.header[i]; i < len(was.cells) &&
				look.SteadyCell(column, was.cells[i]) != look.SteadyCell(column, cell) {
				all = append(all, []string{kind, r.name, fmt.Sprintf("%s %s -> %s", column, was.cells[i], cell)})
			}
		}
	}
	for _, r := range before.rows {
		if _, gone := old[r.name]; gone {
			all = append(all, []string{kind, r.name, "gone"})
		}
	}
	return all
}
