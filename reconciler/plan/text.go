package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
		step.print(w)
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

// Step is one intended write.
type Step struct {
	Verb    string
	Object  string
	Why     []string
	Details []string // the content, line by line
}

func (s *Step) print(w io.Writer) {
	fmt.Fprintf(w, "%s %s: %s\n", s.Verb, s.Object, strings.Join(s.Why, "; "))
	for _, line := range s.Details {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// Steps returns all intended writes in order.
func (p *Plan) Steps() []Step {
	var steps []Step
	if p.Reserve != nil {
		steps = append(steps, p.Reserve.step("reserve in ledger"))
	}
	for i := range p.Hide {
		steps = append(steps, p.Hide[i].step("hide"))
	}
	if p.Publish != nil {
		steps = append(steps, p.Publish.step("publish on", p))
	}
	if p.Settle != nil {
		steps = append(steps, p.Settle.step("settle in ledger"))
	}
	for i := range p.Show {
		steps = append(steps, p.Show[i].step("show"))
	}
	return steps
}

func (l *LedgerWrite) step(verb string) Step {
	step := Step{
		Verb: verb, Object: fmt.Sprintf("of %s, generation %d", l.Ledger.Mux, l.Ledger.Generation), Why: l.Why,
	}
	for i := range l.Ledger.Claims {
		c := &l.Ledger.Claims[i]
		line := fmt.Sprintf("%-9s  %s  %s  %s  %s", c.Numbers(), c.State, c.Owner.Channel, c.Owner.Name, c.Source)
		if c.State == InGrace {
			line += " until " + textUntil(c.Until)
		}
		step.Details = append(step.Details, line)
	}
	for _, holder := range l.Ledger.Hostnames {
		step.Details = append(step.Details, fmt.Sprintf("%s  %s", holder.Hostname, holder.Namespace))
	}
	return step
}

func (m *MuxPatch) step(verb string, p *Plan) Step {
	step := Step{Verb: verb, Object: p.Mux.String(), Why: m.Why}
	for i := range m.Ports {
		port := &m.Ports[i]
		line := fmt.Sprintf("%-9s  %s", SlotOf(port), port.Name)
		if port.NodePort != 0 {
			line += fmt.Sprintf("  node port %d", port.NodePort)
		}
		if protocol := ptr.Deref(port.AppProtocol, ""); protocol != "" {
			line += "  " + protocol
		}
		step.Details = append(step.Details, line)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		step.Details = append(step.Details, fmt.Sprintf("%s: %q", key, m.Annotations[key]))
	}
	return step
}

func (c *ChannelPatch) step(verb string) Step {
	step := Step{Verb: verb, Object: c.Channel.String(), Why: c.Why}
	if c.SetAddress {
		step.Details = append(step.Details, "address: "+strings.Join(addressText(c.Address), ", "))
	}
	for _, condition := range c.Conditions {
		step.Details = append(step.Details, conditionLine(condition))
	}
	if c.SetNote {
		step.Details = append(step.Details, fmt.Sprintf("ports: %q", c.PortsNote))
	}
	return step
}

func conditionLine(c metav1.Condition) string {
	return fmt.Sprintf("%s: %s, %s: %s", c.Type, c.Status, c.Reason, c.Message)
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
		kind := "Normal"
		if event.Warning {
			kind = "Warning"
		}
		fmt.Fprintf(w, "event on %s: %s %s: %s\n", event.Object, kind, event.Reason, event.Message)
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
