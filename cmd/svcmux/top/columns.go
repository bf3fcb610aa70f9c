package top

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	gap    = 2  // blanks between columns
	narrow = 10 // columns aren't made narrower
)

// columns are those that fit the screen, from first on.
type columns struct {
	first  int
	widths []int
}

// columnsOf shrinks the widest columns until the table fits. On a narrow screen, it leaves out columns, first from the
// right, then from the left. The column by which the page is sorted stays.
func columnsOf(header []string, rows []row, width, sorted int) columns {
	widths := make([]int, len(header))
	for i, title := range header {
		widths[i] = utf8.RuneCountInString(title)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
		}
	}
	for total(widths) > width {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrow {
			break
		}
		widths[widest]--
	}
	first, last := 0, len(widths)
	for last > sorted+1 && total(widths[first:last]) > width {
		last--
	}
	for first < sorted && total(widths[first:last]) > width {
		first++
	}
	return columns{first, widths[first:last]}
}

func total(widths []int) int {
	sum := -gap
	for _, width := range widths {
		sum += width + gap
	}
	return sum
}

func (c columns) line(cells []string) string {
	var b strings.Builder
	for i, width := range c.widths {
		fmt.Fprintf(&b, "%-*s", width+gap, cut(cells[c.first+i], width))
	}
	return strings.TrimRight(b.String(), " ")
}
