package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"nowake.ai/svc-lb-mux/validation"
)

// annotation returns the numbers that the channel's ports annotation has for a port. The channel's owner can write that
// annotation, so it counts only if the port could ask for the numbers today.
func (r *rebuilding) annotation(o portOf) (Span, bool) {
	for _, recorded := range o.channel.Recorded {
		if numbers := NewSpan(recorded.Public, recorded.Last, o.port.Protocol); recorded.Name == o.port.Name &&
			r.mayAsk(o.port, numbers) {
			return numbers, true
		}
	}
	return Span{}, false
}

// mayAsk is true if a port asks for just these numbers, or asks for auto and the number is in the mux's range.
func (r *rebuilding) mayAsk(port *validation.ChannelPort, numbers Span) bool {
	switch port.Request.Kind {
	case validation.Own, validation.Number:
		return port.Request.Run() == numbers.run() && (!numbers.isRange() || r.w.Mux.Pool != "")
	case validation.Auto:
		return !numbers.isRange() && r.w.Mux.Auto.Contains(numbers.First)
	case validation.Unread:
	}
	return false
}

// takeAnnotations restores claims that only ports annotations have: ledger and mux were restored from a backup, or
// channels are disabled. A channel gets no more than a newcomer would. It gets all or nothing, unless the mux already
// shows one of its ports.
func (r *rebuilding) takeAnnotations() {
	for _, c := range r.byProof() {
		if len(c.Problems) > 0 || c.Deleting || !c.Admitted && !r.allowed.namespace(c.Key.Namespace) {
			continue
		}
		var annotated []Claim
		known, more := false, 0
		for _, port := range r.portsOf(c.Key) {
			numbers, told := r.annotation(port)
			_, outside := r.w.Mux.Explicit.FirstOutside(numbers.run())
			switch explicit := port.port.Request.Kind == validation.Auto || !outside; {
			case r.owners[port.id()]:
				known = true
			case told && explicit && !r.isTaken(numbers) && !r.unexplained[numbers.slot()]:
				more += numbers.size()
				annotated = append(annotated, r.claim(port, numbers, freeName(port.id(), func(name string) bool {
					_, isLive := r.onMux.spanNamed(name)
					return isLive || r.foundNames[name]
				})))
			}
		}
		if !known && len(annotated) < len(c.Ports) || !r.hasRoom(c, more) {
			continue
		}
		for _, claim := range annotated {
			r.take(claim)
		}
	}
}

// byProof returns the channels whose status says that they have numbers, then the withdrawn ones, then all others; each
// group by age. A tenant can write a channel's annotation, but usually not its status.
func (r *rebuilding) byProof() []*channel {
	rank := func(c *channel) int {
		switch {
		case meta.IsStatusConditionTrue(c.Conditions, r.w.Keys.Accepted):
			return 0
		case c.withdrawn:
			return 1
		}
		return 2
	}
	sorted := byAge(r.channels)
	slices.SortStableFunc(sorted, func(a, b *channel) int { return rank(a) - rank(b) })
	return sorted
}

// hasRoom is true if the mux has room for that many more ports of the channel, and takes the channel's protocols.
func (r *rebuilding) hasRoom(c *channel, more int) bool {
	mux := r.w.Mux
	quota := mux.CapPerNamespace
	if r.size+more > mux.Cap.Ports || quota > 0 && r.byNamespace[c.Key.Namespace]+more > quota {
		return false
	}
	for i := range c.Ports {
		protocol := c.Ports[i].Protocol
		if !mux.Protocols.Allowed.Has(protocol) || mux.Protocols.OneOnly && len(r.found) > 0 &&
			r.found[0].Owner.Protocol != protocol {
			return false
		}
	}
	return true
}
