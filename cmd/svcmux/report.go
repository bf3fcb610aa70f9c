package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"nowake.ai/svc-lb-mux/validation"
)

// report is all that was found in a run. How it is told is the printers' affair.
type report struct {
	Files    int
	Muxes    int
	Channels int
	Others   int // Services that are neither
	Findings []finding
	// Unreadable is what nothing can be said about, Skipped what nothing was looked for in.
	Unreadable, Skipped []remark

	prefix string
	strict bool
}

type severity string

const (
	problem severity = "problem"
	warning severity = "warning"
)

// finding is one thing to say about one Service.
type finding struct {
	Severity  severity          `json:"severity"`
	Reason    validation.Reason `json:"reason"`
	File      string            `json:"file"`
	Line      int               `json:"line"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Kind      string            `json:"kind"`
	Field     string            `json:"field"`
	Port      string            `json:"port,omitempty"`
	Message   string            `json:"message"`
}

// remark is something to say about a file; Line is 0 if it is about the whole of it.
type remark struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func (r *report) unreadable(file string, line int, message string) {
	r.Unreadable = append(r.Unreadable, remark{file, line, oneLine(message)})
}

func (r *report) skip(file, message string) {
	r.Skipped = append(r.Skipped, remark{file, 0, message})
}

func (r *report) counted(kind validation.Kind) {
	switch {
	case kind.Mux():
		r.Muxes++
	case kind.Channel():
		r.Channels++
	default:
		r.Others++
	}
}

// sort keeps what is in one line in the order it was found.
func (r *report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	for _, remarks := range [][]remark{r.Unreadable, r.Skipped} {
		slices.SortStableFunc(remarks, func(a, b remark) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
		})
	}
}

func (r *report) count(s severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

func (r *report) exitCode(strict bool) int {
	switch {
	case len(r.Unreadable) > 0:
		return exitUsage
	case r.count(problem) > 0, strict && r.count(warning) > 0:
		return exitProblems
	}
	return exitFine
}

// summary is for people, who else couldn't tell a clean file from one that wasn't understood as meant.
func (r *report) summary() string {
	services := r.Muxes + r.Channels + r.Others
	text := count(r.Files, "file") + ", " + count(services, "Service") + ": "
	if services == 0 {
		text = count(r.Files, "file") + " without a Service: "
	} else if r.Others == services {
		text += fmt.Sprintf("no mux or channel under %s among them: ", r.prefix)
	} else {
		text += fmt.Sprintf("%s, %s, %s: ", count(r.Muxes, "mux"), count(r.Channels, "channel"), count(r.Others, "other"))
	}
	text += count(r.count(problem), string(problem)) + ", " + count(r.count(warning), string(warning))
	if n := r.count(warning); r.strict && n > 0 {
		text += " (which count as problems)"
	}
	if n := len(r.Unreadable); n > 0 {
		text += fmt.Sprintf(", %d unreadable", n)
	}
	return text
}

// place begins a line of text: FILE:LINE, and a colon.
func (m remark) place() string {
	if m.Line == 0 {
		return printable(m.File) + ": "
	}
	return printable(m.File) + ":" + strconv.Itoa(m.Line) + ": "
}

func objectName(namespace, name string) string {
	if name == "" {
		return printable(namespace) + "/(no name)"
	}
	return printable(namespace + "/" + name)
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "x"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxShown bounds what is shown of a value.
const maxShown = 200

// printable leaves a text as it is if a terminal can take it, and quotes it if not. Names in files are as hostile as
// values.
func printable(text string) string {
	strange := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if text != "" && len(text) <= maxShown && strings.IndexFunc(text, strange) < 0 {
		return text
	}
	return shown(text)
}

// shown quotes a text, and cuts it if it is long.
func shown(text string) string {
	if len(text) <= maxShown {
		return strconv.Quote(text)
	}
	end := maxShown
	for end > maxShown-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.Quote(text[:end]), len(text))
}

// oneLine makes the words of a package we don't know fit to print.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const bound = 500
	if len(text) > bound {
		text = strings.ToValidUTF8(text[:bound], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
