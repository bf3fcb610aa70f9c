package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
)

// Step is one intended write.
type Step struct {
	Verb    string
	Object  string
	Why     []string
	Details []string // the content, line by line
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
	for _, is := range c.Conditions {
		step.Details = append(step.Details, fmt.Sprintf("%s: %s, %s: %s", is.Type, is.Status, is.Reason, is.Message))
	}
	if c.SetNote {
		step.Details = append(step.Details, fmt.Sprintf("ports: %q", c.PortsNote))
	}
	return step
}
