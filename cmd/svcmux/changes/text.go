package changes

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// list returns the report as tables, one for each mux, and sentences.
func (r *Report) list() *look.List {
	lines := &look.List{Header: []string{"CHANGE", "CHANNEL", "PORT", "NUMBER", "HOW", "WHEN"}}
	for i := range r.Denied {
		denied := &r.Denied[i]
		lines.Notes = append(lines.Notes, "refused: "+cli.Shown(denied.Service)+" ("+denied.Reason+"): "+
			cli.Sentence(denied.Message))
	}
	for i := range r.Muxes {
		mux := &r.Muxes[i]
		for _, channel := range mux.Channels {
			for _, port := range channel.Ports {
				lines.Rows = append(lines.Rows, look.Row{Group: cli.Shown(mux.Name), Cells: []string{
					string(port.Change), cli.Shown(channel.Name), cli.Shown(port.Name), port.number(), port.how(), port.when(),
				}})
			}
		}
		lines.Notes = append(lines.Notes, mux.sentences()...)
	}
	lines.Notes = append(lines.Notes, r.summary())
	return lines
}

// number shows the numbers before and after.
func (p *Port) number() string {
	is := p.span(p.After, p.AfterLast)
	if p.AnyNumber {
		is = "?/" + p.Protocol
	}
	was := p.span(p.Before, p.BeforeLast)
	switch {
	case p.Change == Moved:
		return was + " -> " + is
	case p.Change == Freed:
		return was
	case p.Before != 0 && is == was:
		return "keeps " + was
	case p.Before != 0 && p.After == 0 && !p.AnyNumber:
		return was + " -> none"
	case p.Asked != 0:
		return p.span(p.Asked, p.AskedLast)
	case p.After == 0 && !p.AnyNumber:
		return "-/" + p.Protocol
	}
	return is
}

func (p *Port) span(first, last int32) string {
	return plan.NewSpan(first, last, corev1.Protocol(p.Protocol)).String()
}

func (p *Port) how() string {
	switch p.Source {
	case "static":
		return "explicit"
	case "":
		return "-"
	}
	return p.Source
}

// when is the moment of the change. A freed number is held for its grace.
func (p *Port) when() string {
	switch {
	case p.InSeconds == 0 && (p.Change == Given || p.Change == Moved || p.Change == Freed):
		return "at once"
	case p.InSeconds == 0:
		return "-"
	}
	age := cli.Age(time.Duration(p.InSeconds) * time.Second)
	if p.Change == Freed {
		return "held for " + age
	}
	return "after its grace, " + age
}

// sentences returns the changes that the table of ports lacks.
func (m *Mux) sentences() []string {
	name := cli.Shown(m.Name)
	var all []string
	switch m.Action {
	case "created", "removed":
		all = append(all, fmt.Sprintf("%s is %s.", name, m.Action))
	case "changed":
		for _, s := range m.Settings {
			all = append(all, fmt.Sprintf("%s: %s: %s -> %s", name, s.Key, shown(s.Before), shown(s.After)))
		}
	}
	if m.Ports != m.After {
		all = append(all, fmt.Sprintf("%s has %s of %d now, and %d with the files.", name, cli.Count(m.Ports, "port"),
			m.Limit, m.After))
	}
	if m.Freeze != "" {
		all = append(all, name+" is frozen: "+cli.Sentence(m.Freeze))
	}
	for _, channel := range m.Channels {
		if channel.Message != "" {
			all = append(all, cli.Shown(channel.Name)+" ("+channel.Reason+"): "+cli.Sentence(channel.Message))
		}
	}
	for _, note := range m.Notes {
		all = append(all, name+": "+note)
	}
	if len(m.Unread) > 0 {
		all = append(all, look.WhatIsUnread(name, m.Unread))
	}
	return all
}

func shown(value string) string {
	if value == "" {
		return "(not set)"
	}
	return cli.Shown(value)
}

// order returns the changes in the order of a summary.
func order() []Change { return []Change{Given, Moved, Freed, Withdrawn, Waiting, Unknown, Refused} }

// summary returns one line about all changes.
func (r *Report) summary() string {
	var parts []string
	for _, change := range order() {
		if n := r.Summary[change]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, change))
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ") + "."
	case len(r.Muxes) > 0:
		return "No number changes."
	}
	return "No change."
}
