package explain

import (
	"fmt"
	"io"
	"strings"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
)

// text writes chains for people.
type text struct {
	to      io.Writer
	columns int
	paint   cli.Paint
	wide    bool
}

// sign returns the mark before a link.
func sign(state string) string {
	switch state {
	case "ok":
		return "ok"
	case "warn":
		return "!"
	case "bad":
		return "X"
	case "unread":
		return "?"
	}
	return "-"
}

func (t *text) chain(c *view.Chain) {
	fmt.Fprintln(t.to, t.paint.Bold(cli.Wrap(t.headline(c), t.columns, "")))
	fmt.Fprintln(t.to)
	broken := false
	for _, link := range c.Links {
		first := link.State == "bad" && !broken
		broken = broken || first
		t.link(&link, first)
	}
	t.backends(c)
	if len(c.Warnings) > 0 {
		fmt.Fprintln(t.to, "\nWarnings:")
		for _, warning := range c.Warnings {
			t.item(warning.Reason + ": " + warning.Message)
		}
	}
	if t.wide && len(c.Conditions) > 0 {
		fmt.Fprintln(t.to, "\nConditions:")
		for _, condition := range c.Conditions {
			t.item(fmt.Sprintf("%s %s, %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
		}
	}
}

// headline is the answer in one sentence.
func (t *text) headline(c *view.Chain) string {
	what := cli.Shown(c.Namespace + "/" + c.Name)
	if c.Number != 0 {
		what = fmt.Sprintf("%s:%d/%s", cli.Shown(c.Mux), c.Number, c.Protocol)
		if c.Kind == "channel" || c.Kind == "listener" {
			what += ", which is " + cli.Shown(c.Namespace+"/"+c.Name) + ","
		}
	}
	for i, link := range c.Links {
		if link.State == "bad" {
			return fmt.Sprintf("%s can't be reached: link %d of %d is broken, %s.", what, i+1, len(c.Links), link.Name)
		}
	}
	unread, warned := false, false
	for _, link := range c.Links {
		unread, warned = unread || link.State == "unread", warned || link.State == "warn"
	}
	switch {
	case c.Kind == "mux":
		return what + " is a mux."
	case !c.Whole:
		return what + ": what you may read doesn't tell whether it can be reached."
	case unread:
		return what + " can be reached, as far as you may read."
	case warned:
		return what + " can be reached; a link needs attention."
	}
	return what + " can be reached."
}

const (
	nameWidth = 10 // of the longest link, admission
	textAt    = 3 + nameWidth + 1
)

func (t *text) link(link *view.Link, first bool) {
	mark := sign(link.State)
	said := cli.Sentence(link.Text)
	if link.Reason != "" {
		said = link.Reason + ": " + said
	}
	if link.State == "open" {
		said = "not reached"
	}
	head := fmt.Sprintf("%-2s %-*s ", mark, nameWidth, link.Name)
	body := cli.Wrap(said, t.columns, strings.Repeat(" ", textAt))
	if first {
		head = t.paint.Yellow(head)
	}
	fmt.Fprintln(t.to, strings.TrimRight(head+body, " "))
	if link.Mend == "" {
		return
	}
	way := "way out: "
	if link.State == "unread" {
		way = "why: "
	}
	indent := strings.Repeat(" ", textAt)
	fmt.Fprintln(t.to, indent+cli.Wrap(way+cli.Sentence(link.Mend), t.columns, indent))
}

// most is how many backends of a number are listed without -o wide.
const most = 5

func (t *text) backends(c *view.Chain) {
	for _, port := range c.Ports {
		fmt.Fprintf(t.to, "\n%s, port %s:\n", port.Span(), cli.Shown(port.Port))
		for i, backend := range port.Backends {
			if i == most && !t.wide && len(port.Backends) > most+1 {
				fmt.Fprintf(t.to, "  and %d more: -o wide lists all\n", len(port.Backends)-most)
				break
			}
			t.item(describe(&backend))
		}
		if len(port.Backends) == 0 {
			t.item("no backends")
		}
	}
}

func describe(b *view.Backend) string {
	text := fmt.Sprintf("%s port %d", b.Address, b.Port)
	if b.Pod != "" {
		text += ", pod " + b.Pod
	}
	if b.Node != "" {
		text += " on " + b.Node
	}
	if !b.Ready {
		text += ", not ready"
	}
	if b.Unreached != "" {
		text += ", doesn't answer the probes of " + b.Unreached
	}
	return text
}

func (t *text) item(said string) {
	fmt.Fprintln(t.to, "  "+cli.Wrap(cli.Sentence(said), t.columns, "  "))
}
