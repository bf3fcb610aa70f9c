package forecast

import (
	"slices"

	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
	"nowake.ai/svc-lb-mux/validation"
)

// In strict mode, the webhook denies a change whose refusal is proven. It mustn't deny a change that the reconciler
// would accept. So a refusal isn't proven if the change didn't cause it, or if only the ledger can tell.

// outcomeBefore returns the outcome for the channel as it was before; an empty one if it was no channel or was
// disabled.
func (o *Outlook) outcomeBefore(before *plan.ObservedChannel) outcome {
	if before == nil || before.Disabled {
		return outcome{}
	}
	return o.try(before)
}

// isProvenByPorts is true if the ports that are on the mux are enough to refuse the channel. A missing mux may be
// created a moment later, and a frozen one may recover, so neither proves a refusal.
func (o *Outlook) isProvenByPorts(c *plan.ObservedChannel, now *outcome) bool {
	if now.Reason == plan.MuxNotFound || now.Reason == plan.Waiting {
		return false
	}
	if len(o.coming) == 0 {
		return true
	}
	bare := o.tryAmong(c, o.onMux)
	return bare.IsRefused && bare.Reason == now.Reason
}

// mayHold is true if the ledger may hold numbers for the channel that Services don't show: the channel was disabled, or
// its ports annotation records other numbers than the mux has for it. Then it isn't a newcomer, and ranges and caps
// don't take its numbers away. But the channel's owner may have written that annotation; then the reconciler refuses
// the channel. A port conflict proves the opposite: a number that is on the mux for another channel isn't in the ledger
// for this one.
func (o *Outlook) mayHold(before *plan.ObservedChannel, now *outcome) bool {
	switch {
	case before == nil || now.Reason == plan.NamespaceNotAllowed || now.Reason == validation.SourceRangesNotSupported ||
		now.Reason == plan.MuxPortConflict:
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

// asksNothingNew is true for a channel that was refused before, if its change asks for nothing more that is refused.
// The channel had source ranges before. Or a limit refuses it, and it asks for no more ports than before. Or it asks
// for no more picked numbers, and its new requests alone would be granted.
func (o *Outlook) asksNothingNew(before, after *plan.ObservedChannel, was, now *outcome) bool {
	switch {
	case !was.IsRefused:
		return false
	case now.Reason == validation.SourceRangesNotSupported:
		return before.SourceRanges != ""
	case now.Reason == plan.MuxPortLimitExceeded || now.Reason == plan.QuotaExceeded:
		return len(after.Ports) <= len(before.Ports)
	}
	fresh := *after
	fresh.Ports = notAskedBefore(before, after)
	picked := func(port validation.ChannelPort) bool { return port.Request.Kind == validation.Auto }
	if now.Reason == validation.InvalidPortMapping && slices.ContainsFunc(fresh.Ports, picked) {
		return false
	}
	return len(fresh.Ports) == 0 || !o.try(&fresh).IsRefused
}

// notAskedBefore returns the ports whose request is new: no port asked for the number before, or fewer ports asked for
// auto.
func notAskedBefore(before, after *plan.ObservedChannel) []validation.ChannelPort {
	asked := map[plan.Span]int{}
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

// wish returns the numbers that a port asks for; number 0 stands for auto.
func wish(port *validation.ChannelPort) plan.Span {
	switch port.Request.Kind {
	case validation.Own, validation.Number:
		return plan.NewSpan(port.Request.Number, port.Request.Last, port.Protocol)
	case validation.Auto:
		return plan.Span{Protocol: port.Protocol}
	case validation.Unread:
	}
	return plan.Span{First: -1, Protocol: port.Protocol} // equals no valid request
}
