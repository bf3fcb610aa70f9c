package plan

import (
	"slices"

	"nowake.ai/svc-lb-mux/validation"
)

// Which refusals are proven. In strict mode, the webhook denies a change whose refusal is proven. If the reconciler would
// have accepted the change, that would be wrong. So a refusal isn't proven if the change didn't cause it, or if only the
// ledger can tell.

// outcomeBefore returns the outcome for the channel as it was before; an empty one if it was no channel or was disabled.
func (o *Outlook) outcomeBefore(before *ObservedChannel) outcome {
	if before == nil || before.Disabled {
		return outcome{verdict: &verdict{}}
	}
	return o.try(before)
}

// isProvenByPorts is true if the ports that are on the mux are enough to refuse the channel. A missing mux may be created a
// moment later, and a frozen one may recover, so neither proves a refusal.
func (o *Outlook) isProvenByPorts(c *ObservedChannel, now outcome) bool {
	if now.reason == MuxNotFound || now.reason == Waiting {
		return false
	}
	if len(o.coming) == 0 {
		return true
	}
	bare := o.tryAmong(c, o.onMux)
	return bare.refused && bare.reason == now.reason
}

// mayHold is true if the ledger may hold numbers for the channel that Services don't show. Then it isn't a newcomer,
// and ranges and caps don't take its numbers away. The channel is disabled, or its ports annotation records other
// numbers. Its owner may have written that annotation, too; the reconciler then refuses the channel. A number that is
// on the mux for another channel isn't in the ledger for this one.
func (o *Outlook) mayHold(before *ObservedChannel, now outcome) bool {
	switch {
	case before == nil || now.reason == NamespaceNotAllowed || now.reason == MuxPortConflict:
		return false
	case before.Disabled:
		return true
	}
	shown := map[string]int32{}
	for i := range o.onMux {
		if claim := &o.onMux[i]; claim.Owner.Channel == before.Key {
			shown[claim.Owner.Name] = claim.Public
		}
	}
	return slices.ContainsFunc(before.Recorded, func(given validation.PortMapping) bool {
		return shown[given.Name] != given.Public
	})
}

// asksNothingNew is true for a channel that was refused before and asks for nothing new that is refused: it needs no more ports
// or picked numbers, and its new requests alone would be granted.
func (o *Outlook) asksNothingNew(before, after *ObservedChannel, was, now outcome) bool {
	switch {
	case !was.refused:
		return false
	case now.reason == MuxPortLimitExceeded || now.reason == QuotaExceeded:
		return len(after.Ports) <= len(before.Ports)
	}
	fresh := *after
	fresh.Ports = notAskedBefore(before, after)
	picked := func(port validation.ChannelPort) bool { return port.Request.Kind == validation.Auto }
	if now.reason == validation.InvalidPortMapping && slices.ContainsFunc(fresh.Ports, picked) {
		return false
	}
	return len(fresh.Ports) == 0 || !o.try(&fresh).refused
}

// notAskedBefore returns the ports that ask for a number that no port asked for before, or for another picked number.
func notAskedBefore(before, after *ObservedChannel) []validation.ChannelPort {
	asked := map[Slot]int{}
	for i := range before.Ports {
		asked[wish(&before.Ports[i])]++
	}
	var fresh []validation.ChannelPort
	for i := range after.Ports {
		wished := wish(&after.Ports[i])
		if asked[wished]--; asked[wished] < 0 {
			fresh = append(fresh, after.Ports[i])
		}
	}
	return fresh
}

// wish returns the slot that a port asks for; number 0 stands for auto.
func wish(port *validation.ChannelPort) Slot {
	switch port.Request.Kind {
	case validation.Own, validation.Number:
		return Slot{port.Request.Number, port.Protocol}
	case validation.Auto:
		return Slot{0, port.Protocol}
	case validation.Unread:
	}
	return Slot{-1, port.Protocol} // equals no valid request
}
