// Package cli has the parts that all commands of svcmux share: streams, exit codes, colours, tables, progress, and
// words. The parts that need a cluster are in package kube.
package cli

import (
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// Env is the surroundings of a command, besides files and the network.
type Env struct {
	Program  string // the name in messages: "svcmux", or "kubectl svcmux"
	Version  string // the version of this build
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Now      func() time.Time // nil for time.Now
}

// Time returns the time.
func (e Env) Time() time.Time {
	if e.Now == nil {
		return time.Now()
	}
	return e.Now()
}

// width returns the number of columns of a terminal, or 0 if the writer isn't one.
func width(to io.Writer) int {
	file, isFile := to.(*os.File)
	if !isFile {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd())) //nolint:gosec // a file descriptor is a small number
	if err != nil {
		return 0
	}
	return columns
}

// IsTerminal is true if standard input and standard output are terminals.
func (e Env) IsTerminal() bool {
	in, isFile := e.In.(*os.File)
	return isFile && term.IsTerminal(int(in.Fd())) &&
		width(e.Out) > 0 //nolint:gosec // a file descriptor is a small number
}

// Paint returns the colours for a writer. Without a terminal, or with NO_COLOR, nothing is coloured.
func (e Env) Paint(to io.Writer) Paint {
	return Paint{on: width(to) > 0 && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"}
}

// Paint colours text.
type Paint struct{ on bool }

// Bold is for headlines.
func (p Paint) Bold(text string) string { return p.in("1", text) }

// Yellow is for text that needs attention.
func (p Paint) Yellow(text string) string { return p.in("33", text) }

func (p Paint) in(code, text string) string {
	if !p.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Columns returns the width that output for a writer may have: that of the terminal, or else COLUMNS; 0 for any.
func (e Env) Columns(to io.Writer) int {
	if columns := width(to); columns > 0 {
		return columns
	}
	columns, err := strconv.Atoi(e.Getenv("COLUMNS"))
	if err != nil || columns < 0 {
		return 0
	}
	return columns
}
