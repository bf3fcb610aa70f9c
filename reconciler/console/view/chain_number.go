package view

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/reconciler/numbers/claimants"
	"nowake.ai/svc-lb-mux/reconciler/numbers/plan"
)

// WhyNumber returns the chain of a number of a mux. Key and Service of the question are those of the mux. find returns
// a Service that was read, or nil. If a channel has the number, WhyNumber returns the chain of the channel, with the
// ports and backends of this number alone.
func WhyNumber(q *Question, slot plan.Slot, find func(types.NamespacedName) *corev1.Service) Chain {
	c := Chain{Schema: Schema, Namespace: q.Key.Namespace, Name: q.Key.Name, Kind: "number", Mux: q.Key.String(),
		Links: []Link{}}
	c.Number, c.Protocol = slot.Number, string(slot.Protocol)
	state, reason, message := stateOf(q.Seen)
	if q.Seen.World.Mux == nil {
		if state == muxUnread {
			c.unread("mux", "it can't be read, so nobody can tell which channel has the number", message)
		} else {
			c.bad("mux", message, reason, "")
		}
		return c.complete()
	}
	lines := PortsOf(q.Seen)
	at := slices.IndexFunc(lines, func(l PortLine) bool { return l.Has(slot) })
	if at < 0 {
		c.free(q, slot)
		return c.complete()
	}
	line := &lines[at]
	if svc := find(channelKey(line.Channel)); svc != nil && line.State != slotGrace {
		ask := *q
		ask.Key, ask.Service = channelKey(line.Channel), svc
		chain := Why(&ask)
		chain.Number, chain.Protocol = c.Number, c.Protocol
		chain.Ports = slices.DeleteFunc(chain.Ports, func(p PublicPort) bool {
			return !p.Span().Covers(slot.Span())
		})
		return chain
	}
	if key := channelKey(line.Channel); !claimants.IsService(key) && line.State != slotGrace {
		chain := WhyListener(q.Seen, key)
		chain.Number, chain.Protocol = c.Number, c.Protocol
		return chain
	}
	c.ok("mux", q.Key.String())
	c.taken(line)
	return c.complete()
}

func channelKey(text string) types.NamespacedName {
	for i := range text {
		if text[i] == '/' {
			return types.NamespacedName{Namespace: text[:i], Name: text[i+1:]}
		}
	}
	return types.NamespacedName{}
}

// free explains a number that is free.
func (c *Chain) free(q *Question, slot plan.Slot) {
	c.ok("mux", q.Key.String())
	text := fmt.Sprintf("no channel has %s", slot)
	switch {
	case q.Seen.World.Mux.Explicit.Contains(slot.Number):
		c.bad("claim", text+": it is free", "",
			fmt.Sprintf("give it to a port of a channel: %s: \"PORT:%d\"", q.Language.Keys().ExternalPorts, slot.Number))
	case q.Seen.World.Mux.Auto.Contains(slot.Number):
		c.bad("claim", text+": it is free, for ports that ask for auto", "",
			fmt.Sprintf("let a port ask for any number: %s: \"PORT:auto\"", q.Language.Keys().ExternalPorts))
	default:
		c.bad("claim", text+": it is free, and outside of the mux's ranges", string(plan.OutOfRange),
			"choose a number of "+q.Seen.World.Mux.Explicit.String())
	}
}

// taken explains the number of a foreign port, a number in grace, or the number of a channel that couldn't be read.
func (c *Chain) taken(line *PortLine) {
	slot := line.Span().String()
	switch {
	case line.State == slotForeign:
		c.bad("claim", fmt.Sprintf("%s is a port of the mux's own, named %s: no channel has it", slot, line.Port), "",
			"its backends are the business of the mux's owner, who can take the port away")
	case line.State == slotGrace:
		text := fmt.Sprintf("%s isn't on the mux: it is held for %s, which had it", slot, line.Channel)
		if line.Until != nil {
			text += ", until " + line.Until.Format("2006-01-02 15:04:05Z")
		}
		c.bad("claim", text, "", "let that channel ask for it again, or wait, or choose another number")
	case line.Channel == "":
		c.unread("claim", fmt.Sprintf("%s belongs to a channel that can't be read", slot),
			"ask somebody who may read all namespaces")
	default:
		c.unread("claim", fmt.Sprintf("%s belongs to %s, which can't be read or is gone", slot, line.Channel),
			"ask somebody who may read that namespace")
	}
}
