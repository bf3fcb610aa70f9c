package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Print writes the plan for people: the steps in order with their reasons, the Events, and the verdicts.
func (p *Plan) Print(w io.Writer) {
	fmt.Fprintf(w, "mux %s\n", p.Mux)
	if p.Freeze != nil {
		fmt.Fprintf(w, "frozen: %s: %s\n", p.Freeze.Reason, p.Freeze.Message)
	}
	for _, key := range p.Confirm {
		fmt.Fprintf(w, "confirm %s\n", key)
	}
	for _, step := range p.Steps() {
		fmt.Fprintf(w, "%s %s: %s\n", step.Verb, step.Object, strings.Join(step.Why, "; "))
		for _, line := range step.Details {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	if p.Empty() {
		fmt.Fprintln(w, "nothing to do")
	}
	p.printEvents(w)
	p.printVerdicts(w)
	if !p.Again.IsZero() {
		fmt.Fprintf(w, "again at %s\n", textUntil(p.Again))
	}
}

func (p *Plan) printEvents(w io.Writer) {
	events := slices.Clone(p.Standing)
	for i := range p.Hide {
		events = append(events, p.Hide[i].Events...)
	}
	if p.Publish != nil {
		events = append(events, p.Publish.Events...)
	}
	for i := range p.Show {
		events = append(events, p.Show[i].Events...)
	}
	for _, event := range append(events, p.Told...) {
		fmt.Fprintf(w, "event on %s: %s %s: %s\n", event.Object, event.Type(), event.Reason, event.Message)
	}
}

func (p *Plan) printVerdicts(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		var ports []string
		for _, port := range v.Ports {
			text := fmt.Sprintf("%s:%d", port.Name, port.Port)
			if port.Public != 0 {
				text += "->" + NewSpan(port.Public, port.Last, port.Protocol).run().String()
			}
			ports = append(ports, text+"/"+string(port.Protocol))
		}
		state := "refused"
		if v.Accepted {
			state = "accepted"
		}
		if v.Programmed {
			state += ", programmed"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", v.Channel, state, v.Reason, strings.Join(ports, " "))
	}
	_ = table.Flush() // errors of w are the caller's
}
