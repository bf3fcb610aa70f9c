package plan

import (
	"slices"

	"nowake.ai/svc-lb-mux/validation"
)

// What of a refusal is proven. Whoever denies by it takes away what the reconciler would have given, if it isn't so: a
// change that is to blame for nothing, or that only the ledger can judge, is none to deny.

// tried is what would be decided about the channel as it was before; nothing, if it was none or was withdrawn.
func (o *Outlook) tried(before *ObservedChannel) outcome {
	if before == nil || before.Disabled {
		return outcome{verdict: &verdict{}}
	}
	return o.try(before)
}

// proves is true if the ports that are on the mux are enough to refuse the channel. A mux that is missing may be made a
// moment later, and one that waits is mended: neither is the channel's fault.
func (o *Outlook) proves(c *ObservedChannel, now outcome) bool {
	if now.reason == MuxNotFound || now.reason == Waiting {
		return false
	}
	if len(o.coming) == 0 {
		return true
	}
	bare := o.tryAmong(c, o.onMux)
	return bare.refused && bare.reason == now.reason
}

// mayHold is true if the ledger may hold numbers for a channel that Services don't show, so that it isn't the newcomer that
// it looks like: neither ranges nor caps take them from it. It is withdrawn, or says that it was given them; its owner may
// write that as well, and is refused by the reconciler then. What is another's on the mux, it has in no ledger.
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

// mends is true for a channel that was refused already, and isn't refused for anything that it didn't ask for before: of
// places and of numbers to be picked it asks for no more, and what is new would be granted by itself.
func (o *Outlook) mends(before, after *ObservedChannel, was, now outcome) bool {
	switch {
	case !was.refused:
		return false
	case now.reason == MuxPortLimitExceeded || now.reason == QuotaExceeded:
		return len(after.Ports) <= len(before.Ports)
	}
	news := *after
	news.Ports = notAskedBefore(before, after)
	picked := func(port validation.ChannelPort) bool { return port.Request.Kind == validation.Auto }
	if now.reason == validation.InvalidPortMapping && slices.ContainsFunc(news.Ports, picked) {
		return false
	}
	return len(news.Ports) == 0 || !o.try(&news).refused
}

// notAskedBefore are the ports that ask for a number that none asked for before, or for one more to be picked.
func notAskedBefore(before, after *ObservedChannel) []validation.ChannelPort {
	asked := map[Slot]int{}
	for i := range before.Ports {
		asked[wish(&before.Ports[i])]++
	}
	var news []validation.ChannelPort
	for i := range after.Ports {
		wished := wish(&after.Ports[i])
		if asked[wished]--; asked[wished] < 0 {
			news = append(news, after.Ports[i])
		}
	}
	return news
}

// wish is what a port asks for; its number is 0 if any will do.
func wish(port *validation.ChannelPort) Slot {
	switch port.Request.Kind {
	case validation.Own, validation.Number:
		return Slot{port.Request.Number, port.Protocol}
	case validation.Auto:
		return Slot{0, port.Protocol}
	case validation.Unread:
	}
	return Slot{-1, port.Protocol} // which no port wishes that can be read
}
