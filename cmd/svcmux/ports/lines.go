package ports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/console/view"
	"nowake.ai/svc-lb-mux/reconciler/sight"
)

// Schema is the version of the output for programs. Fields may be added; existing fields don't change.
const Schema = "svc-lb-mux/ports/v1"

// item is a number in the output for programs.
type item struct {
	Mux string `json:"mux"`
	view.PortLine
}

// header has a column for the mux in a watch, whose lines come in any order.
func header(watch, wide bool) []string {
	columns := []string{"NUMBER", "CHANNEL", "PORT", "HOW", "SINCE", "READY", "STATE"}
	if watch {
		columns = slices.Insert(columns, 0, "MUX")
	}
	if wide {
		columns = append(columns, "REASON", "MESSAGE")
	}
	return columns
}

// rows returns the lines of a mux. With -n, they are those of muxes and channels in the namespace.
func (o *options) rows(s *sight.Sight, now time.Time) []look.Row {
	namespace := o.Kube.NamespaceGiven()
	all := namespace == "" || o.Kube.All() || o.mux != "" || s.World.Key.Namespace == namespace
	var rows []look.Row
	for _, line := range view.PortsOf(s) {
		if !all && !strings.HasPrefix(line.Channel, namespace+"/") {
			continue
		}
		mux := s.World.Key.String()
		row := look.Row{Name: mux + ":" + line.Span().String(), Item: item{mux, line}}
		if o.Watch {
			row.Cells = append(row.Cells, cli.Shown(mux))
		}
		row.Cells = append(row.Cells, cells(s, &line, now)...)
		if o.Wide() {
			row.Cells = append(row.Cells, dash(line.Reason), dash(cli.Sentence(line.Message)))
		}
		rows = append(rows, row)
	}
	return rows
}

func cells(s *sight.Sight, line *view.PortLine, now time.Time) []string {
	how := map[string]string{"static": "explicit"}[line.Source]
	if how == "" {
		how = dash(line.Source)
	}
	since := "-"
	switch {
	case line.Since != nil:
		since = cli.Age(now.Sub(*line.Since))
	case line.Source != "" && s.Unread.Ledger != "":
		since = "?"
	}
	ready := "-"
	switch {
	case line.State == "unread" || line.State == "held" && line.Backends == nil:
		ready = "?"
	case line.Backends != nil && line.State != "grace":
		ready = fmt.Sprintf("%d/%d", line.Backends.Ready, line.Backends.Total)
	}
	channel, port := dash(line.Channel), dash(line.Port)
	if line.State == "unread" {
		port = "?"
		if line.Channel == "" {
			channel = "?"
		}
	}
	return []string{line.Span().String(), cli.Shown(channel), cli.Shown(port), how, since, ready, state(line, now)}
}

// state is the state of a number in a word or two.
func state(line *view.PortLine, now time.Time) string {
	switch {
	case line.State == "grace" && line.Until != nil:
		return "grace " + cli.Age(line.Until.Sub(now))
	case line.State == "withheld" && line.Condition == "":
		return "off the mux"
	case line.State == "withheld":
		return line.Condition
	case line.State != "held":
		return line.State
	case line.Condition == "": // a channel that can't be read, or that is gone
		return "?"
	case !line.Live:
		return "pending"
	case line.Condition == "programmed" && line.Backends != nil && line.Backends.Ready == 0:
		return "unbacked"
	}
	return line.Condition
}

// notes are sentences about a mux whose lines don't tell all.
func notes(s *sight.Sight) []string {
	mux := view.Of(s)
	name := cli.Shown(mux.Namespace + "/" + mux.Name)
	var notes []string
	switch mux.State {
	case "ok", "pending":
	case "unread":
	default:
		notes = append(notes, name+" is "+mux.State+": "+cli.Sentence(mux.Message))
	}
	if s.Unread.Any() {
		notes = append(notes, look.WhatIsUnread(name, s.Unread.Why()))
	}
	return notes
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
