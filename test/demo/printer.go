package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// printer prints the demo's progress. A terminal gets colours for commands and figures; other outputs get the same
// words without colours.
type printer struct {
	to       io.Writer
	coloured bool
}

func newPrinter(to *os.File) printer {
	info, err := to.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return printer{to: to, coloured: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

func (p printer) in(style, text string) string {
	if !p.coloured {
		return text
	}
	return style + text + plain
}

// heading prints the title of a part.
func (p printer) heading(text string) { fmt.Fprintf(p.to, "\n%s\n", p.in(bold, text)) }

// command prints a command before it runs.
func (p printer) command(text string) {
	fmt.Fprintln(p.to, p.in(bold, "$ "+strings.ReplaceAll(text, "\n", "\n  ")))
}

// text prints the output of a command.
func (p printer) text(text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		fmt.Fprintln(p.to, text)
	}
}

// took prints the elapsed time.
func (p printer) took(since time.Time) {
	fmt.Fprintln(p.to, p.in(faint, fmt.Sprintf("  took %.1f s", time.Since(since).Seconds())))
}
