package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/validation"
)

// report holds the findings of a run. Printers format it.
type report struct {
	Files    int
	Muxes    int
	Channels int
	Others   int // Services that are neither mux nor channel
	Routes   int // routes that ask for a number
	Unread   int // Services that can't be decoded
	Findings []finding
	// Unreadable are files and Services that can't be read. Skipped are files that weren't read.
	Unreadable, Skipped []remark

	prefix  string
	strict  bool
	program string // the name of this program, in hints
	version string
}

type severity string

const (
	problem severity = "problem"
	warning severity = "warning"
)

// finding is one problem or warning of one Service.
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

// remark is a message about a file. Line is 0 if it concerns the whole file.
type remark struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func (r *report) unreadable(file string, line int, message string) {
	r.Unreadable = append(r.Unreadable, remark{file, line, cli.Sentence(message)})
}

func (r *report) skip(file, message string) {
	r.Skipped = append(r.Skipped, remark{file, 0, message})
}

func (r *report) countKind(kind validation.Kind) {
	switch {
	case kind.Mux():
		r.Muxes++
	case kind.Channel():
		r.Channels++
	default:
		r.Others++
	}
}

// sort sorts by file and line. Findings of one line keep their order.
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

// summary returns the last line of the output. Its counts show whether the files held the expected muxes and channels.
func (r *report) summary() string {
	text := cli.Count(r.Files, "file") + r.services() + r.routes() + ": " + cli.Count(r.count(problem), string(problem)) +
		", " + cli.Count(r.count(warning), string(warning))
	if n := r.count(warning); r.strict && n > 0 {
		text += " (which count as problems)"
	}
	if n := len(r.Unreadable); n > 0 {
		text += fmt.Sprintf(", %d unreadable", n)
	}
	return text
}

// services returns the counts of Services as text. Unreadable files may hold more, so the text then speaks of the
// readable part.
func (r *report) services() string {
	services := r.Muxes + r.Channels + r.Others + r.Unread
	switch {
	case services == 0 && len(r.Unreadable) > 0:
		return ", no Service in the readable part"
	case services == 0:
		return " without a Service"
	case r.Others == services:
		return fmt.Sprintf(", %s: no mux or channel under %s among them", cli.Count(services, "Service"), r.prefix)
	}
	text := fmt.Sprintf(", %s: %s, %s, %s", cli.Count(services, "Service"), cli.Count(r.Muxes, "mux"),
		cli.Count(r.Channels, "channel"), cli.Count(r.Others, "other"))
	if r.Unread > 0 {
		text += fmt.Sprintf(", %d unread", r.Unread)
	}
	return text
}

// routes returns the count of routes that ask for a number. Most files have none.
func (r *report) routes() string {
	if r.Routes == 0 {
		return ""
	}
	return ", " + cli.Count(r.Routes, "route")
}

// place returns FILE:LINE and a colon, the start of an output line.
func (m remark) place() string {
	if m.Line == 0 {
		return printable(m.File) + ": "
	}
	return printable(m.File) + ":" + strconv.Itoa(m.Line) + ": "
}
