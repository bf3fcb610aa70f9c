package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/printers"
)

// Table prints rows in columns, as kubectl does. On a terminal that is too narrow, it prints a block for each row.
type Table struct {
	Header []string
	Rows   [][]string
}

// Print writes the table, or nothing if it has no rows.
func (t Table) Print(to io.Writer) error { return t.PrintFor(to, to) }

// PrintFor writes the table into a buffer that is shown on a terminal later. The table fits that terminal's width.
func (t Table) PrintFor(terminal, to io.Writer) error { return t.PrintAt(to, width(terminal)) }

// PrintAt prints the table for a terminal with that many columns; 0 means that there is no terminal.
func (t Table) PrintAt(to io.Writer, columns int) error {
	if len(t.Rows) == 0 {
		return nil
	}
	if columns > 0 && t.width() > columns {
		return t.printBlocks(to)
	}
	out := printers.GetNewTabWriter(to)
	fmt.Fprintln(out, strings.Join(t.Header, "\t"))
	for _, row := range t.Rows {
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

// printBlocks writes each row as a heading and one indented line for each further column.
func (t Table) printBlocks(to io.Writer) error {
	var b strings.Builder
	for _, row := range t.Rows {
		fmt.Fprintln(&b, row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "  %s: %s\n", strings.ToLower(t.Header[i+1]), cell)
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}

const gap = 3 // blanks between two columns

func (t Table) width() int {
	total := 0
	for i := range t.Header {
		widest := 0
		for _, row := range append([][]string{t.Header}, t.Rows...) {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		total += widest + gap
	}
	return total - gap
}
