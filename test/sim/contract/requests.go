package contract

import (
	"fmt"

	"nowake.ai/svc-lb-mux/validation"
)

// checkRequests requires that every channel has everything it asks for, unless something prevents it.
func (m *mux) checkRequests() string {
	for _, key := range keysOf(m.channels) {
		c := m.channels[key]
		if c.Deleting {
			continue
		}
		lacks := m.lacking(c)
		if len(lacks) > 0 && m.whyNot(c, lacks) == "" {
			return fmt.Sprintf("requests: %s lacks %s, and nothing is in the way", key, lacks[0].Name)
		}
	}
	return ""
}

// lacking returns the ports of a channel that lack the requested number.
func (m *mux) lacking(c *channel) []*validation.ChannelPort {
	var lacks []*validation.ChannelPort
	for i := range c.Ports {
		port := &c.Ports[i]
		if has := c.claimOf(port); has == nil || !m.satisfies(has, port) {
			lacks = append(lacks, port)
		}
	}
	return lacks
}

// satisfies returns whether the claim has the number that the port asks for. A picked number stays when the range
// moves.
func (m *mux) satisfies(c *claim, port *validation.ChannelPort) bool {
	if port.Request.Kind == validation.Auto {
		return c.auto || m.Auto.Contains(c.slot.number)
	}
	return c.slot.number == port.Request.Number
}

// whyNot returns what prevents a channel from getting the ports it lacks, or an empty string.
func (m *mux) whyNot(c *channel, lacks []*validation.ChannelPort) string {
	switch {
	case !c.valid:
		return "its Service has problems"
	case c.listener == nil && !m.Namespaces.Allows(c.Key.Namespace):
		return "its namespace isn't allowed"
	case c.Disabled && len(c.claims) == 0:
		return "it is disabled"
	}
	adds := 0
	for _, port := range lacks {
		if c.claimOf(port) == nil {
			adds++
		}
		if !m.Protocols.Allowed.Has(port.Protocol) {
			return "its protocol isn't allowed"
		}
	}
	all, own := m.used(c.Key.Namespace)
	switch {
	case adds > 0 && all+adds > m.Cap.Ports:
		return "the mux is full"
	case adds > 0 && m.CapPerNamespace > 0 && own+adds > m.CapPerNamespace:
		return "its namespace has all that it may have"
	}
	return m.noNumbers(c, lacks)
}

// used counts the ports that count against the caps: claims in force, and foreign ports.
func (m *mux) used(namespace string) (all, own int) {
	claimed := map[slot]bool{}
	for i := range m.ledger.claims {
		if c := &m.ledger.claims[i]; c.state == held {
			claimed[c.slot] = true
			all++
			if c.channel.Namespace == namespace {
				own++
			}
		}
	}
	for i := range m.Ports {
		if !claimed[slotOf(&m.Ports[i])] && m.blocks(i) {
			all++
		}
	}
	return all, own
}

// blocks returns false for a placeholder that is removed as soon as another port comes.
func (m *mux) blocks(i int) bool {
	return !isPlaceholder(&m.Ports[i]) || m.Placeholder == validation.PlaceholderKeep
}

// noNumbers returns which number is taken, or that too few numbers are free. A port can ask for a number that another
// port of the channel gives up, but `auto` doesn't pick it.
func (m *mux) noNumbers(c *channel, lacks []*validation.ChannelPort) string {
	taken, moves := m.taken(c), map[slot]bool{}
	for _, port := range lacks {
		if has := c.claimOf(port); has != nil {
			moves[has.slot] = true
		}
	}
	for _, port := range lacks {
		if port.Request.Kind == validation.Auto {
			continue
		}
		at := slot{port.Request.Number, port.Protocol}
		if taken[at] && !moves[at] || !m.Explicit.Contains(at.number) {
			return fmt.Sprintf("%s is taken, or not to be asked for", at)
		}
		taken[at] = true
	}
	for _, port := range lacks {
		if port.Request.Kind == validation.Auto && !m.pick(taken, port) {
			return "no number is left in the range"
		}
	}
	return ""
}

func (m *mux) pick(taken map[slot]bool, port *validation.ChannelPort) bool {
	for number := range m.Auto.All() {
		if at := (slot{number, port.Protocol}); !taken[at] {
			taken[at] = true
			return true
		}
	}
	return false
}

// taken returns the numbers on the mux and in the ledger. Numbers in grace for this channel are free for it.
func (m *mux) taken(c *channel) map[slot]bool {
	taken := map[slot]bool{}
	for i := range m.ledger.claims {
		of := &m.ledger.claims[i]
		taken[of.slot] = of.channel != c.Key || of.state != inGrace
	}
	for i := range m.Ports {
		if m.blocks(i) {
			taken[slotOf(&m.Ports[i])] = true
		}
	}
	return taken
}
