package contract

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// checkPorts compares the mux's ports with the claims that belong on it.
func (m *mux) checkPorts() string {
	ours := regexp.MustCompile(`^([0-9a-f]{7}|[0-9a-f]{20})$`) // the pattern of our port names
	live, explained := m.live(), map[slot]bool{}
	for i := range m.ledger.claims {
		c := &m.ledger.claims[i]
		port, on := live[c.slot]
		on = on && port.Name == c.name
		if on != m.publishes(c) {
			return fmt.Sprintf("ports: %s of %s has state %q, and on the mux: %t", c.slot, c.channel, c.state, on)
		}
		explained[c.slot] = explained[c.slot] || on
	}
	for i := range m.Ports {
		port := &m.Ports[i]
		if ours.MatchString(port.Name) && !explained[slotOf(port)] && !m.Unexplained(m.Key, port) {
			return fmt.Sprintf("ports: %s is on the mux as %s, and no claim says so", slotOf(port), port.Name)
		}
	}
	return m.checkPlaceholder()
}

// checkPlaceholder requires the placeholder on a mux without other ports. Elsewhere it allows the placeholder only if
// the owner keeps it.
func (m *mux) checkPlaceholder() string {
	port := m.live()[slot{101, corev1.ProtocolTCP}]
	there := port != nil && isPlaceholder(port)
	switch {
	case there && len(m.Ports) > 1 && m.Placeholder != validation.PlaceholderKeep:
		return "placeholder: it is there beside other ports"
	case !there && len(m.Ports) == 0:
		return "placeholder: the mux has no port at all"
	}
	return ""
}

func isPlaceholder(port *corev1.ServicePort) bool {
	return port.Name == "placeholder" && slotOf(port) == slot{101, corev1.ProtocolTCP}
}

func (m *mux) live() map[slot]*corev1.ServicePort {
	live := map[slot]*corev1.ServicePort{}
	for i := range m.Ports {
		live[slotOf(&m.Ports[i])] = &m.Ports[i]
	}
	return live
}

func slotOf(port *corev1.ServicePort) slot {
	if port.Protocol == "" {
		return slot{port.Port, corev1.ProtocolTCP}
	}
	return slot{port.Port, port.Protocol}
}

// portOf returns the channel's port of a claim, or nil if the port is gone.
func (c *channel) portOf(of *claim) *validation.ChannelPort {
	for i := range c.Ports {
		if port := &c.Ports[i]; port.Name == of.port && port.Protocol == of.slot.protocol {
			return port
		}
	}
	return nil
}

// claimOf returns the claim of a channel's port, or nil.
func (c *channel) claimOf(port *validation.ChannelPort) *claim {
	for i := range c.claims {
		if of := &c.claims[i]; of.port == port.Name && of.slot.protocol == port.Protocol {
			return of
		}
	}
	return nil
}
