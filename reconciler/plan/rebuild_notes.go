package plan

import "nowake.ai/svc-lb-mux/validation"

// takeNotes believes channels about ports that aren't on the mux: it may have been made anew. They get no more so than
// they would by asking, and like a newcomer all or nothing, unless some of their ports are on the mux.
func (r *rebuilding) takeNotes() {
	for _, c := range byAge(r.sorted) {
		if len(c.Problems) > 0 || c.Deleting || !r.allowed.namespace(c.Key.Namespace) {
			continue
		}
		noted, all := r.noted(c)
		if !all && !r.known(c) || !r.room(c, len(noted)) {
			continue
		}
		for _, claim := range noted {
			r.take(claim)
		}
	}
}

// noted are claims for the channel's ports that have none, as its note has them; all is true if none is missing.
func (r *rebuilding) noted(c *member) (noted []Claim, all bool) {
	public := make(map[string]validation.PortMapping, len(c.Recorded))
	for _, recorded := range c.Recorded {
		public[recorded.Name] = recorded
	}
	all = true
	for i := range c.Ports {
		port := portOf{c, &c.Ports[i]}
		if r.owners[port.id()] {
			continue
		}
		recorded, found := public[port.port.Name]
		slot := Slot{recorded.Public, port.port.Protocol}
		if !found || r.may(r.told[c.Key], recorded) != port.port || r.slots[slot] || r.unexplained[slot] || !r.mayAsk(port.port) {
			all = false
			continue
		}
		noted = append(noted, r.claim(port, recorded.Public, freeName(port.id(), func(name string) bool {
			return r.names[name] || r.live.named(name) != nil
		})))
	}
	return noted, all
}

// known is true if a port of the channel is on the mux.
func (r *rebuilding) known(c *member) bool {
	for i := range c.Ports {
		if r.owners[PortID{c.Key, c.Ports[i].Name, c.Ports[i].Protocol}] {
			return true
		}
	}
	return false
}

// room is true if the mux's limits leave room for that many ports more of the channel.
func (r *rebuilding) room(c *member, more int) bool {
	mux := r.w.Mux
	quota := mux.CapPerNamespace
	if len(r.claims)+more > mux.Cap.Ports || quota > 0 && r.byNamespace[c.Key.Namespace]+more > quota {
		return false
	}
	for i := range c.Ports {
		protocol := c.Ports[i].Protocol
		if !mux.Protocols.Allowed.Has(protocol) {
			return false
		}
		if mux.Protocols.OneOnly && len(r.claims) > 0 && r.claims[0].Owner.Protocol != protocol {
			return false
		}
	}
	return true
}

// mayAsk is true unless the port asks for a number that nobody may ask for.
func (r *rebuilding) mayAsk(port *validation.ChannelPort) bool {
	return port.Request.Kind == validation.Auto || r.w.Mux.Explicit.Contains(port.Request.Number)
}

// told is what a channel says of its ports, as far as it could ask for that today. Its owner writes that note as well as we do.
type told struct {
	named map[string][]*validation.ChannelPort
	of    map[*validation.ChannelPort]int32 // the number that it says last
	at    map[Slot][]portOf
}

func (r *rebuilding) tell(c *member) *told {
	t := &told{
		named: make(map[string][]*validation.ChannelPort, len(c.Ports)), of: map[*validation.ChannelPort]int32{}, at: map[Slot][]portOf{},
	}
	for i := range c.Ports {
		port := &c.Ports[i]
		t.named[port.Name] = append(t.named[port.Name], port)
	}
	for _, recorded := range c.Recorded {
		if port := r.may(t, recorded); port != nil {
			slot := Slot{recorded.Public, port.Protocol}
			t.of[port], t.at[slot] = recorded.Public, append(t.at[slot], portOf{c, port})
		}
	}
	return t
}

// may returns the port that a channel says has a number, if it could ask for that number today.
func (r *rebuilding) may(t *told, recorded validation.PortMapping) *validation.ChannelPort {
	for _, port := range t.named[recorded.Name] {
		switch port.Request.Kind {
		case validation.Own, validation.Number:
			if port.Request.Number == recorded.Public {
				return port
			}
		case validation.Auto:
			if r.w.Mux.Auto.Contains(recorded.Public) {
				return port
			}
		case validation.Unread:
		}
	}
	return nil
}
